#pragma once

#include <cstddef>
#include <cstdint>

#include <cuda_runtime_api.h>

namespace lockstep::smoke {

/// Kernel arguments of nearly 4 KiB, the limit of CUDA before 12.1.
struct ManyArguments {
  float values[1000];
};

///@{
/// Launch a kernel. They throw DeviceError.
void launch_add(float* values, int size, float summand, cudaStream_t stream);
/// Each thread of many blocks applies atomicMin_system to *place with a value of its own; the smallest of these values
/// is `least`.
void launch_lower(unsigned long long* place, unsigned long long least, cudaStream_t stream);
void launch_sum(const ManyArguments& arguments, float* sum, cudaStream_t stream);
/// Runs for `nanoseconds` and does nothing else.
void launch_delay(std::int64_t nanoseconds, cudaStream_t stream);
/// Runs until the host sets *released to a value other than 0, or 20 s have passed.
void launch_wait_for(const volatile int* released, cudaStream_t stream);
///@}

/// CUB's stable radix sort by the lowest `bits` of the keys. If `scratch` is null, only returns the bytes of scratch
/// memory that it needs.
std::size_t sort_pairs(void* scratch, std::size_t bytes, const std::int64_t* keys, std::int64_t* sorted_keys,
                       const std::int64_t* places, std::int64_t* sorted_places, int size, int bits,
                       cudaStream_t stream);

}  // namespace lockstep::smoke
