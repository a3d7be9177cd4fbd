#pragma once

#include <cstddef>
#include <map>
#include <mutex>

#include <lockstep/runtime/device/memory_resource.h>

namespace lockstep {

/// Host memory. Each allocation reserves a range of addresses, which costs no memory, and makes the beginning of the
/// range usable; `extend` makes more of the range usable. `settle` backs the usable part with huge pages, if the kernel
/// provides them, for fewer TLB misses in large activations. Huge pages are not requested earlier, because in a virtual
/// machine, the host often has to find a huge page first, which takes about ten times as long as clearing it.
class HostMemory final : public MemoryResource {
 public:
  /// `addresses`: size in bytes of the address range that is reserved for each allocation and its extensions. The range
  /// is larger for an allocation of more bytes, and smaller if less address space is available. The default is 64 GiB,
  /// or a sixteenth of RLIMIT_AS if that is less.
  explicit HostMemory(std::size_t addresses = default_addresses()) : addresses_(addresses) {}
  ~HostMemory() override;
  void* allocate(std::size_t bytes) override;
  void release(void* memory, std::size_t bytes) noexcept override;
  bool extends() const override { return true; }
  bool extend(void* end, std::size_t bytes) override;
  void settle(void* end) noexcept override;

 private:
  static std::size_t default_addresses();

  struct Range {
    std::size_t usable, size;
  };
  using Ranges = std::map<std::byte*, Range>;

  /// The range whose usable part ends at `end`; ranges_.end() if there is none. The caller must hold mutex_.
  Ranges::iterator range_to(void* end);

  std::size_t addresses_;
  std::mutex mutex_;
  Ranges ranges_;  ///< by first address
};

}  // namespace lockstep
