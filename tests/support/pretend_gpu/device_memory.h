#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <span>
#include <vector>

#include <lockstep/kernels/operand.h>
#include <lockstep/runtime/device/memory_resource.h>

namespace lockstep::test {

/// Memory that, like a GPU's, only kernels and copies may access. Reading or writing it while no Access exists causes a
/// segmentation fault.
class DeviceMemory final : public MemoryResource {
 public:
  DeviceMemory();
  ~DeviceMemory() override;
  void* allocate(std::size_t bytes) override;
  void release(void* memory, std::size_t bytes) noexcept override;
  /// Whether `address` is in this memory.
  bool contains(const void* address) const;

  /// During its lifetime, all threads can read and write the memory. Only one thread at a time can have an Access, so
  /// that kernels run one at a time.
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

  std::recursive_mutex turns_;  ///< held by each Access; lock it before mutex_, because kernels may allocate
  std::mutex mutex_;            ///< guards the members below
  int open_ = 0;                ///< number of Access objects
  void* mapping_;
  std::byte* begin_;                                ///< the first whole huge page of the mapping
  std::byte* end_;                                  ///< end of the memory handed out so far
  std::map<std::size_t, std::vector<void*>> free_;  ///< released memory by size
};

/// Throws BrokenInvariant for operands of `kernel` that are not in the memory.
void check_memory(const char* kernel, const DeviceMemory& memory, std::span<const kernels::Operand> operands);

}  // namespace lockstep::test
