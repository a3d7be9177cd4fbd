#pragma once

#include <string_view>

#include <cudnn.h>

#include <lockstep/runtime/device/cuda/gpu.h>

namespace lockstep::cudnn {

/// Throws DeviceError naming function and device, and what it was for if there is a word for it, unless `status` is
/// success.
void check(cudnnStatus_t status, const char* call, std::string_view what = {});
/// cuDNN's state for the calling thread's work on one logical GPU, whose stream it uses; made at first use.
cudnnHandle_t handle_of(const Gpu& gpu);

}  // namespace lockstep::cudnn
