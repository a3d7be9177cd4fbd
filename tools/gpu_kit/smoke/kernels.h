#pragma once

#include <cstddef>
#include <cstdint>

#include <cuda_runtime_api.h>

namespace lockstep::smoke {

/// As many bytes of arguments as kernels could take before CUDA 12.1.
struct ManyArguments {
  float values[1000];
};

///@{
/// Launches of kernels. Throw DeviceError.
void launch_add(float* values, int size, float summand, cudaStream_t stream);
/// Of all threads of many blocks; the least that any of them has is `least`.
void launch_lower(unsigned long long* place, unsigned long long least, cudaStream_t stream);
void launch_sum(const ManyArguments& arguments, float* sum, cudaStream_t stream);
/// Does nothing for so long.
void launch_delay(std::int64_t nanoseconds, cudaStream_t stream);
/// Does not end before *released, which the host writes, is not 0, or before 20 s are over.
void launch_wait_for(const volatile int* released, cudaStream_t stream);
///@}

/// CUB's stable sort by the lowest `bits` of keys; returns the bytes of scratch memory that it wants where `scratch` is
/// null.
std::size_t sort_pairs(void* scratch, std::size_t bytes, const std::int64_t* keys, std::int64_t* sorted_keys,
                       const std::int64_t* places, std::int64_t* sorted_places, int size, int bits,
                       cudaStream_t stream);

}  // namespace lockstep::smoke
