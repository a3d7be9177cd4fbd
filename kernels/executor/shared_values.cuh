#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include <lockstep/kernels/executor/executor.h>
#include <lockstep/kernels/executor/launch.cuh>
#include <lockstep/runtime/core/host_device.h>

namespace lockstep::cuda {

/// One value per thread of a block in shared memory. The values are interleaved by word: word w of all values is
/// contiguous, so that the threads of a warp access all banks. Contiguous values would cause bank conflicts.
template <class Value>
class SharedValues {
 public:
  static constexpr int words = sizeof(Value) / sizeof(std::uint32_t);
  static constexpr int bytes = block_threads * sizeof(Value);

  LOCKSTEP_HOST_DEVICE explicit SharedValues(void* memory) : memory_(static_cast<std::uint32_t*>(memory)) {}

  LOCKSTEP_HOST_DEVICE void set(int thread, const Value& value) const {
    std::uint32_t of[words];
    std::memcpy(of, &value, sizeof value);
    for (int w = 0; w < words; ++w) memory_[w * block_threads + thread] = of[w];
  }
  LOCKSTEP_HOST_DEVICE Value get(int thread) const {
    std::uint32_t of[words];
    for (int w = 0; w < words; ++w) of[w] = memory_[w * block_threads + thread];
    Value value;
    std::memcpy(&value, of, sizeof value);
    return value;
  }

 private:
  static_assert(std::is_trivially_copyable_v<Value> && sizeof(Value) % sizeof(std::uint32_t) == 0);
  static_assert(sizeof(Value) <= kernels::most_column_bytes);
  std::uint32_t* memory_;
};

}  // namespace lockstep::cuda
