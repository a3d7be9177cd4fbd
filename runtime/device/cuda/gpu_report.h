#pragma once

#include <cstddef>

#include <lockstep/runtime/device/gpu_platform.h>

namespace lockstep {

/// The GPUs that the CUDA driver reports now. Creates no context.
GpuReport report_gpus();
/// Number of GPUs; 0 without a driver.
int count_gpus();
/// Free bytes on GPU `index`, on which the call creates a context; 0 if this process cannot have one.
std::size_t free_memory_of_gpu(int index);

}  // namespace lockstep
