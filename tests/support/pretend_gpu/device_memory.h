#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <span>
#include <vector>

#include <lockstep/kernels/operand.h>
#include <lockstep/runtime/device/memory_resource.h>

namespace lockstep::test {

/// Memory that only kernels and copies may access, like a GPU's: reading or writing it while there is no Access ends
/// with a segmentation fault.
class DeviceMemory final : public MemoryResource {
 public:
  DeviceMemory();
  ~DeviceMemory() override;
  void* allocate(std::size_t bytes) override;
  void release(void* memory, std::size_t bytes) noexcept override;
  /// Whether `address` is in this memory.
  bool contains(const void* address) const;

  /// Opens the memory to every thread; kernels run one at a time.
  class Access {
   public:
    explicit Access(DeviceMemory& memory);
    ~Access();
    Access(const Access&) = delete;
    Access& operator=(const Access&) = delete;

   private:
    DeviceMemory& memory_;
    std::lock_guard<std::recursive_mutex> turn_;
  };

 private:
  void open();
  void close();
  void protect(int protection) const;

  std::recursive_mutex turns_;  ///< held by a running kernel, which may allocate: never locked with mutex_ held
  std::mutex mutex_;            ///< guards the members below
  int open_ = 0;                ///< number of Accesses
  void* mapping_;
  std::byte* begin_;                                ///< the first whole huge page of the mapping
  std::byte* end_;                                  ///< end of the memory handed out so far
  std::map<std::size_t, std::vector<void*>> free_;  ///< released memory by size
};

/// Throws BrokenInvariant for operands of `kernel` that are not in the memory.
void check_memory(const char* kernel, const DeviceMemory& memory, std::span<const kernels::Operand> operands);

}  // namespace lockstep::test
