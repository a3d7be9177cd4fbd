#pragma once

#include <cstddef>

#include <lockstep/runtime/device/gpu_platform.h>

namespace lockstep {

/// Asks the CUDA driver for its GPUs and returns their descriptions. Creates no CUDA context. Throws Unsupported if the
/// driver cannot describe a GPU.
GpuReport report_gpus();
/// Number of GPUs of the CUDA driver; 0 if there is no usable driver.
int count_gpus();
/// Free memory of GPU `index` in bytes, or 0 if no CUDA context can be created on it. Creates a context.
std::size_t free_memory_of_gpu(int index);

}  // namespace lockstep
