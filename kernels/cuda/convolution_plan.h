#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <cudnn.h>

#include <lockstep/kernels/cuda/convolution.h>
#include <lockstep/kernels/cuda/planned_gpu.h>

// Convolutions as cuDNN graphs. Only cudnn_graphs.cpp includes cudnn-frontend, which takes half a minute to compile.

namespace lockstep::cudnn {

/// The library versions to which serialized plans belong, e.g. "cuDNN 9.19.0, cudnn-frontend 1.32.0".
std::string versions();

/// Whether to let cuDNN apply relu after the bias. False for bf16, because lockstep requires that NaN stays NaN, and
/// none of cuDNN's bf16 kernels on tensor cores guarantees this.
constexpr bool takes_relu(DType dtype) { return dtype == DType::f32; }

/// One of cuDNN's algorithms for a convolution on one kind of GPU. It is deterministic, accumulates in f32, and uses no
/// tensor cores for f32 operands, no FFT or Winograd transforms and no compilation at run time.
class ConvolutionPlan {
 public:
  /// Chooses the first algorithm, in the order of cuDNN's heuristics, whose plan can be built. Times nothing, so the
  /// choice is the same in every run. Throws Unsupported naming the convolution if cuDNN has no suitable algorithm, or
  /// cannot make plans from the properties of a DescribedGpu (planned_gpu.h).
  ConvolutionPlan(const Convolution& convolution, const PlannedFor& gpu);
  /// Returns the time of a plan in any unit; infinity if the plan cannot run.
  using TimeOf = std::function<double(const ConvolutionPlan&)>;
  /// Chooses the algorithm with the smallest `time_of`, which is called for every algorithm whose plan can be built, in
  /// the order of cuDNN's heuristics. If all times are infinite, chooses the first of these algorithms. Throws the
  /// errors of the other constructor.
  ConvolutionPlan(const Convolution& convolution, const PlannedFor& gpu, const TimeOf& time_of);
  /// Restores the plan from the bytes that `serialized` returned for the same convolution (not checked) and kind of
  /// GPU. Returns nothing if this cuDNN rejects the bytes.
  static std::optional<ConvolutionPlan> restored(const Convolution& convolution, const PlannedFor& gpu,
                                                 const std::vector<std::uint8_t>& bytes);
  ConvolutionPlan(ConvolutionPlan&&) noexcept;
  ~ConvolutionPlan();

  /// Scratch memory that run() needs, in bytes.
  std::int64_t workspace_bytes() const { return workspace_bytes_; }
  /// cuDNN's name of the algorithm.
  const std::string& engine() const { return engine_; }
  /// Whether the algorithm multiplies on tensor cores.
  bool on_tensor_cores() const { return on_tensor_cores_; }
  /// The plan as bytes for `restored`. Throws Unsupported naming the convolution.
  std::vector<std::uint8_t> serialized() const;

  /// Addresses on the GPU, aligned to operand_alignment, of elements of Convolution::dtype in the layouts of
  /// Convolution. run() writes the tensor that the ConvolutionPass names.
  struct Operands {
    void* x;               ///< or dx
    void* kernel;          ///< or dkernel
    void* y;               ///< or dy
    void* bias = nullptr;  ///< read if the convolution has one
  };
  /// Enqueues the convolution on the handle's stream. `workspace` has workspace_bytes() bytes on the GPU, aligned to
  /// operand_alignment. Throws DeviceError naming convolution and device. Precondition: the plan is for an existing
  /// GPU.
  void run(cudnnHandle_t handle, const Operands& operands, void* workspace) const;

 private:
  /// The convolution and its cuDNN graph.
  struct Description;
  explicit ConvolutionPlan(std::unique_ptr<Description> description);
  /// Queries cuDNN's algorithms and returns their number.
  std::int64_t prepare();
  /// Selects algorithm `index`; false if cuDNN cannot build its plan.
  bool choose(std::int64_t index);
  /// Selects the first algorithm whose plan can be built.
  void choose_first();
  /// Selects the algorithm with the smallest `time_of` among `count` algorithms.
  void choose_fastest(std::int64_t count, const TimeOf& time_of);
  /// Reads the properties of the selected algorithm.
  void read_properties();
  /// Checks all memory that run() is given.
  void check_contracts(const Convolution& convolution, const Operands& operands, const void* workspace) const;

  std::unique_ptr<Description> description_;
  std::int64_t workspace_bytes_ = 0;
  std::string engine_;
  bool on_tensor_cores_ = false;
};

}  // namespace lockstep::cudnn
