#pragma once

#include <memory>

#include <lockstep/kernels/cuda/convolution_plan.h>
#include <lockstep/runtime/device/cuda/gpu.h>
#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep::cudnn {

/// Times plans of a convolution on the calling thread's GPU, with operands that it allocates.
class PlanTimer {
 public:
  /// `handle` belongs to `gpu`. Throws OutOfMemory, DeviceError.
  PlanTimer(const Convolution& convolution, const Gpu& gpu, cudnnHandle_t handle);

  /// The median time of 5 runs in ms, after a warm-up run that loads the kernels. If the first timed run takes more
  /// than twice the best median so far, returns its time without further runs. Infinity if the plan fails or its memory
  /// cannot be allocated.
  double operator()(const ConvolutionPlan& plan);

 private:
  class Stopwatch;
  /// Time of one run in ms.
  double time_of(const ConvolutionPlan& plan, void* workspace) const;

  const Gpu* gpu_;
  cudnnHandle_t handle_;
  Tensor x_, kernel_, y_, bias_;
  std::shared_ptr<Stopwatch> stopwatch_;
  double least_;
};

}  // namespace lockstep::cudnn
