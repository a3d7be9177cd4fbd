#pragma once

#include <string>
#include <string_view>

#include <cudnn.h>

#include <lockstep/runtime/device/cuda/gpu.h>

namespace lockstep::cudnn {

/// Throws DeviceError unless `status` is success. The error names the function `call`, the device and `what`: the
/// computation that the call belongs to, such as "lstm of x (8, 20, 16) with 32 units". `what` may be empty.
void check(cudnnStatus_t status, const char* call, std::string_view what = {});
/// The calling thread's cuDNN handle for a logical GPU, set to the GPU's stream; created at first use.
cudnnHandle_t handle_of(const Gpu& gpu);
/// The kind of a GPU, for keys of plans, e.g. "NVIDIA H200, compute capability 9.0".
std::string text_of(const Gpu& gpu);

}  // namespace lockstep::cudnn
