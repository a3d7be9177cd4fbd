#pragma once

#include <memory>
#include <string>

#include <cudnn.h>

#include <lockstep/kernels/cuda/convolution.h>

// Graphs of cuDNN's, behind an interface without cudnn-frontend, which takes a compiler half a minute to read.

namespace lockstep::cudnn {

/// A GPU that need not be there, to plan for.
struct DescribedGpu {
  std::string properties;  ///< JSON as cuDNN's CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION has it
  int compute_capability;  ///< 90 is 9.0
};

/// A convolution as cuDNN runs it on one kind of GPU: with sums in f32, of f32 without tensor cores, without transforms
/// that round differently, by an algorithm that comes compiled and gives the same bits every time. Of those it is the
/// one that cuDNN's heuristics put first: nothing is timed, so that the choice is the same in every run.
class ConvolutionPlan {
 public:
  /// For the GPU of the handle. Throws Unsupported naming the convolution when cuDNN cannot run it.
  ConvolutionPlan(const Convolution& convolution, cudnnHandle_t handle);
  /// For a GPU that is described; it cannot be run here. Throws as the other.
  ConvolutionPlan(const Convolution& convolution, const DescribedGpu& gpu);
  ConvolutionPlan(ConvolutionPlan&&) noexcept;
  ~ConvolutionPlan();

  /// What run() needs beside the operands.
  std::int64_t workspace_bytes() const { return workspace_bytes_; }
  /// The name that cuDNN gives the algorithm.
  const std::string& engine() const { return engine_; }

  /// Addresses on the GPU, aligned to operand_alignment, in the layouts of Convolution; the pass decides which one is
  /// written.
  struct Operands {
    void* x;               ///< or dx
    void* kernel;          ///< or dkernel
    void* y;               ///< or dy
    void* bias = nullptr;  ///< read if the convolution has one
  };
  /// Enqueues the convolution on the handle's stream. Throws DeviceError naming convolution and device.
  void run(cudnnHandle_t handle, const Operands& operands, void* workspace) const;

 private:
  struct Graph;
  void build(cudnnHandle_t handle);

  std::unique_ptr<Graph> graph_;
  std::int64_t workspace_bytes_ = 0;
  std::string engine_;
};

}  // namespace lockstep::cudnn
