#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <cudnn.h>

#include <lockstep/kernels/cuda/convolution.h>

// Convolutions as graphs of cuDNN. cudnn_graphs.cpp alone includes cudnn-frontend, which takes a compiler half a minute
// to read.

namespace lockstep::cudnn {

/// A GPU that need not be there, to plan for.
struct DescribedGpu {
  std::string properties;  ///< JSON as cuDNN's CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION has it
  int compute_capability;  ///< 90 is 9.0
};

/// The most bytes of scratch memory, which counts against a device's limit. Algorithms that want more are seldom
/// faster.
inline constexpr std::int64_t workspace_limit = std::int64_t{1} << 30;

/// What a plan is for: the GPU of a handle, or one that is described, for which it cannot be run here.
using PlannedFor = std::variant<cudnnHandle_t, DescribedGpu>;

/// "cuDNN 9.19.0, cudnn-frontend 1.32.0": whose plans are understood.
std::string versions();

/// Whether cuDNN has a relu behind the bias that keeps NaN, without losing more than that gains: in bfloat16 no kernel
/// on tensor cores promises it.
constexpr bool takes_relu(DType dtype) { return dtype == DType::f32; }

/// A convolution as cuDNN runs it on one kind of GPU: with sums in f32, of f32 without tensor cores, without transforms
/// that round differently, by an algorithm that comes compiled and gives the same bits every time.
class ConvolutionPlan {
 public:
  /// By the algorithm that cuDNN's heuristics put first: nothing is timed, so that the choice is the same in every run.
  /// Throws Unsupported naming the convolution when cuDNN cannot run it, or not plan it for a GPU that is described.
  ConvolutionPlan(const Convolution& convolution, const PlannedFor& gpu);
  /// How long a plan takes, in whatever unit; infinity for one that does not work.
  using TimeOf = std::function<double(const ConvolutionPlan&)>;
  /// By the algorithm for which `time_of` is least, which is asked of every one that cuDNN offers, in the order of its
  /// heuristics; the first of these where none works. Throws as the other.
  ConvolutionPlan(const Convolution& convolution, const PlannedFor& gpu, const TimeOf& time_of);
  /// As `serialized` gave it for the same convolution and kind of GPU; none where this cuDNN does not take it.
  static std::optional<ConvolutionPlan> restored(const Convolution& convolution, const PlannedFor& gpu,
                                                 const std::vector<std::uint8_t>& bytes);
  ConvolutionPlan(ConvolutionPlan&&) noexcept;
  ~ConvolutionPlan();

  /// What run() needs beside the operands.
  std::int64_t workspace_bytes() const { return workspace_bytes_; }
  /// The name that cuDNN gives the algorithm.
  const std::string& engine() const { return engine_; }
  /// Whether the algorithm multiplies on tensor cores.
  bool on_tensor_cores() const { return on_tensor_cores_; }
  /// What `restored` makes the plan of again. Throws Unsupported naming the convolution.
  std::vector<std::uint8_t> serialized() const;

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
  /// Its cuDNN descriptor.
  struct Description;
  explicit ConvolutionPlan(std::unique_ptr<Description> description);
  /// Asks cuDNN for its algorithms, and returns how many there are.
  std::int64_t prepare();
  /// Takes number `index` of them; false when it cannot be taken.
  bool choose(std::int64_t index);
  /// Takes the first that can be taken.
  void choose_first();
  /// Of that many, the one for which `time_of` is least.
  void choose_fastest(std::int64_t count, const TimeOf& time_of);
  /// Of what has been chosen.
  void read_properties();
  /// Of all memory that run() is given.
  void check_contracts(const Convolution& convolution, const Operands& operands, const void* workspace) const;

  std::unique_ptr<Description> description_;
  std::int64_t workspace_bytes_ = 0;
  std::string engine_;
  bool on_tensor_cores_ = false;
};

}  // namespace lockstep::cudnn
