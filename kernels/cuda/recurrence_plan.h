#pragma once

#include <lockstep/kernels/cuda/cudnn_objects.h>
#include <lockstep/kernels/cuda/operands.h>
#include <lockstep/kernels/cuda/recurrent_weights.h>

namespace lockstep::cudnn {

/// A recurrent layer as cuDNN runs it: in f32 throughout, without tensor cores, step by step within one call.
class RecurrencePlan {
 public:
  /// The most steps that cuDNN takes.
  static constexpr std::int64_t longest = 65535;

  /// Describes the layer; this needs no GPU. Throws DeviceError naming call and layer when cuDNN refuses it.
  explicit RecurrencePlan(const RecurrentLayer& layer);
  /// Asks for the sizes and the places below: call it before the layer runs. Throws as the constructor.
  void lay_out(cudnnHandle_t handle);

  ///@{
  /// Memory that the calls need, in bytes.
  std::int64_t weight_bytes() const { return weight_bytes_; }
  std::int64_t work_bytes(cudnnForwardMode_t mode) const { return mode == CUDNN_FWD_MODE_TRAINING ? trained_ : work_; }
  std::int64_t reserve_bytes() const { return reserve_bytes_; }  ///< of training
  ///@}
  /// Where the weight space holds what.
  const LinearLayers& places() const { return places_; }

  /// Addresses on the GPU, aligned to operand_alignment. The weight space holds weights or, of gradient_weights, their
  /// gradients, to which those of the call are added.
  struct Operands {
    ///@{
    /// As whole_recurrence.h says, each read or written as the call says.
    void *x, *y, *weights, *work;
    void* reserve = nullptr;  ///< null: nothing is kept for a gradient
    ///@}
  };
  ///@{
  /// Enqueue on the handle's stream. The gradient of x comes first: it changes the reserve space, which that of the
  /// weights reads. Throw DeviceError naming call, device and layer.
  void forward(cudnnHandle_t handle, const Operands& operands) const;
  void gradient_x(cudnnHandle_t handle, const Operands& operands, const void* dy, void* dx) const;
  void gradient_weights(cudnnHandle_t handle, const Operands& operands) const;
  ///@}

 private:
  void check(cudnnStatus_t status, const char* call) const;
  /// Of all memory that a call is given.
  void check_contracts(const char* call, const Operands& operands, std::int64_t work_bytes) const {
    const std::int64_t steps = layer_.n * layer_.time;
    check_operands(call, {operand(operands.x, steps * layer_.features),
                          operand(operands.y, steps * layer_.units),
                          {operands.weights, static_cast<std::size_t>(weight_bytes_), operand_alignment},
                          {operands.work, static_cast<std::size_t>(work_bytes), operand_alignment},
                          {operands.reserve, reserve_of(operands), operand_alignment}});
  }
  cudnnStatus_t describe(cudnnRNNAlgo_t algorithm) const;
  /// Whether cuDNN has the kernel that does all steps of this layer, many times as fast as one that is launched for
  /// each; then it is described so.
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
