#pragma once

#include <memory>

#include <lockstep/kernels/cuda/convolution_plan.h>
#include <lockstep/runtime/device/cuda/gpu.h>
#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep::cudnn {

/// Times plans of a convolution on the calling thread's GPU, on memory of its own.
class PlanTimer {
 public:
  /// `handle` is of `gpu`. Throws OutOfMemory.
  PlanTimer(const Convolution& convolution, const Gpu& gpu, cudnnHandle_t handle);

  /// The median time of some runs, in ms, after one that loads its kernels; of a plan that turns out to take twice as
  /// long as another the time of one run. Infinity where it fails or there is no memory for it.
  double operator()(const ConvolutionPlan& plan);

 private:
  class Stopwatch;
  /// Of one run.
  double time_of(const ConvolutionPlan& plan, void* workspace) const;

  const Gpu* gpu_;
  cudnnHandle_t handle_;
  Tensor x_, kernel_, y_, bias_;
  std::shared_ptr<Stopwatch> stopwatch_;
  double least_;
};

}  // namespace lockstep::cudnn
