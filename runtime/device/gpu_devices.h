#pragma once

#include <string>
#include <vector>

#include <lockstep/runtime/device/device.h>

namespace lockstep {

/// What the CUDA driver reports. Implemented in cuda/ or, in a build without the toolkit, in no_cuda/.
struct GpuReport {
  std::vector<Device> devices;  ///< by index
  std::string why_none;         ///< one line; empty when there are devices
};
/// Asks the driver anew, each time.
GpuReport query_gpus();

}  // namespace lockstep
