#pragma once

#include <cstddef>
#include <map>
#include <mutex>

#include <lockstep/runtime/device/memory_resource.h>

namespace lockstep {

/// The host's memory. Reserves addresses, which cost nothing until they are used, and makes memory of them from their
/// beginning on as it is asked for. Once it settles it is made of huge pages, where the kernel gives them, for fewer
/// TLB misses in the big activations; not before, since under a virtual machine whole huge pages are often ones that
/// the host has yet to find, for some ten times what clearing them takes.
class HostMemory final : public MemoryResource {
 public:
  /// `addresses`: bytes of them that are reserved at once, if there are that many, for all that extend may add. The
  /// default leaves some to others where the program's number of them is limited.
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

  /// The range whose usable part ends at `end`, if there is one. The caller holds the lock.
  Ranges::iterator range_to(void* end);

  std::size_t addresses_;
  std::mutex mutex_;
  Ranges ranges_;  ///< by where they begin
};

}  // namespace lockstep
