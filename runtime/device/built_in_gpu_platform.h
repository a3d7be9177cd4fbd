#pragma once

#include <lockstep/runtime/device/gpu_platform.h>

namespace lockstep {

/// What gpu_platform() gives outside of tests. Implemented in cuda/ or, in a build without the toolkit, in
/// no_gpu_platform.cpp.
GpuPlatform& built_in_gpu_platform();

}  // namespace lockstep
