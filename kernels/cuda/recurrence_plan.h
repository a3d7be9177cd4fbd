#pragma once

#include <lockstep/kernels/cuda/cudnn_objects.h>
#include <lockstep/kernels/cuda/operands.h>
#include <lockstep/kernels/cuda/recurrent_weights.h>

namespace lockstep::cudnn {

/// cuDNN descriptors of a recurrent layer: always f32, without tensor cores; one call computes all time steps.
class RecurrencePlan {
 public:
  /// Maximum number of time steps that cuDNN supports.
  static constexpr std::int64_t longest = 65535;

  /// Describes the layer; does not need a GPU. Throws DeviceError naming call and layer when cuDNN rejects it.
  explicit RecurrencePlan(const RecurrentLayer& layer);
  /// Queries the sizes and offsets below; call it once, before the layer runs. Throws the errors of the constructor,
  /// OutOfMemory, and Unsupported when cuDNN's matrices and biases have unexpected sizes.
  void lay_out(cudnnHandle_t handle);

  ///@{
  /// Sizes of the memory that the calls need, in bytes.
  std::int64_t weight_bytes() const { return weight_bytes_; }
  std::int64_t work_bytes(cudnnForwardMode_t mode) const { return mode == CUDNN_FWD_MODE_TRAINING ? trained_ : work_; }
  std::int64_t reserve_bytes() const { return reserve_bytes_; }  ///< for training
  ///@}
  /// Offsets of the linear layers in the weight space.
  const LinearLayers& places() const { return places_; }

  /// Addresses on the GPU, aligned to operand_alignment. `weights` is the weight space; for gradient_weights it holds
  /// the weights' gradients, to which the call adds.
  struct Operands {
    ///@{
    /// x and y as in whole_recurrence.h; each is read or written as the call requires.
    void *x, *y, *weights, *work;
    void* reserve = nullptr;  ///< null for a forward pass without a gradient
    ///@}
  };
  ///@{
  /// Enqueue work on the handle's stream. Call gradient_x before gradient_weights, because gradient_x changes the
  /// reserve space that gradient_weights reads. Throw DeviceError naming call, device and layer.
  void forward(cudnnHandle_t handle, const Operands& operands) const;
  void gradient_x(cudnnHandle_t handle, const Operands& operands, const void* dy, void* dx) const;
  void gradient_weights(cudnnHandle_t handle, const Operands& operands) const;
  ///@}

 private:
  void check(cudnnStatus_t status, const char* call) const;
  /// Checks the memory of `operands` and its workspace.
  void check_contracts(const char* call, const Operands& operands, std::int64_t work_bytes) const {
    const std::int64_t steps = layer_.n * layer_.time;
    check_operands(call, {operand(operands.x, steps * layer_.features),
                          operand(operands.y, steps * layer_.units),
                          {operands.weights, static_cast<std::size_t>(weight_bytes_), operand_alignment},
                          {operands.work, static_cast<std::size_t>(work_bytes), operand_alignment},
                          {operands.reserve, reserve_of(operands), operand_alignment}});
  }
  cudnnStatus_t describe(cudnnRNNAlgo_t algorithm) const;
  /// Describes the layer for cuDNN's single kernel for all time steps, which is many times as fast as one launch per
  /// step. Returns false if that kernel must not be used: for a GRU, for more than 384 units, and if cuDNN refuses; the
  /// layer must then be described again.
  bool takes_whole_layers(cudnnHandle_t handle) const;
  SequenceDescriptor sequences(std::int64_t vector_size) const;
  TensorDescriptor states() const;
  LinearLayer place_of(cudnnHandle_t handle, std::int64_t number, const Tensor& space) const;
  std::size_t reserve_of(const Operands& operands) const;

  RecurrentLayer layer_;
  DropoutDescriptor dropout_;
  RnnDescriptor rnn_;
  SequenceDescriptor x_, y_;
  TensorDescriptor states_;
  std::int64_t weight_bytes_ = 0, work_ = 0, trained_ = 0, reserve_bytes_ = 0;
  LinearLayers places_;
};

}  // namespace lockstep::cudnn
