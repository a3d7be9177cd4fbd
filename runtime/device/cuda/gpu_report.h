#pragma once

#include <lockstep/runtime/device/gpu_platform.h>

namespace lockstep {

/// What the CUDA driver reports now.
GpuReport report_gpus();
/// How many GPUs it has; 0 without a driver.
int count_gpus();

}  // namespace lockstep
