#pragma once

#include <cstddef>

#include <lockstep/runtime/device/gpu_platform.h>

namespace lockstep {

/// What the CUDA driver reports now. Makes no context.
GpuReport report_gpus();
/// How many GPUs it has; 0 without a driver.
int count_gpus();
/// Bytes that are free on one, for which this process gets a context there; 0 if it cannot have one.
std::size_t free_memory_of_gpu(int index);

}  // namespace lockstep
