#pragma once

#include <cstdint>
#include <string>

#include <lockstep/kernels/activation.h>
#include <lockstep/models/layers/initializers.h>
#include <lockstep/models/layers/layer.h>

namespace lockstep {

/// LSTM's options.
struct LstmOptions {
  ///@{
  /// Keras' arguments, with the same names and defaults. Arguments without a default in Keras are required.
  std::int64_t units = 0;
  bool return_sequences = false;      ///< returns h of all time steps, not only of the last one
  bool return_state = false;          ///< further results are the last h and c, (units) each
  bool go_backwards = false;          ///< runs from the last time step to the first
  bool stateful = false;              ///< a batch starts from the last states of the batch before it; see reset_states
  bool zero_output_for_mask = false;  ///< the result of a masked step is 0 instead of the last unmasked step's result
  Activation activation = Activation::tanh;
  Activation recurrent_activation = Activation::sigmoid;
  bool use_bias = true;
  bool unit_forget_bias = true;  ///< the forget gate's bias starts at 1 (Jozefowicz et al. 2015)
  SeededInitializer kernel_initializer = glorot_uniform;
  SeededInitializer recurrent_initializer = orthogonal();
  SeededInitializer bias_initializer = zeros;
  Regularizer kernel_regularizer{};
  Regularizer recurrent_regularizer{};
  Regularizer bias_regularizer{};
  Regularizer activity_regularizer{};
  Constraint kernel_constraint{};
  Constraint recurrent_constraint{};
  Constraint bias_constraint{};
  double dropout = 0;            ///< dropout rate of the inputs in training; all time steps share one mask
  double recurrent_dropout = 0;  ///< dropout rate of h before its product with recurrent_kernel; slow
  std::string name{};
  ///@}
  void describe(LayerConfig& config);  ///< writes or reads the options
};

/// Keras' LSTM: (time, features) -> (units) or, with `return_sequences`, (time, units). Weights, with the gates in the
/// order i, f, c, o: kernel (features, 4 units), recurrent_kernel (units, 4 units), and bias (4 units). A call on {x,
/// h, c} starts from these states, (units) each, instead of 0. Fast only with Keras' defaults for activation,
/// recurrent_activation, use_bias and recurrent_dropout. GPUs then run all time steps in one cuDNN call, unless states
/// are given or returned or the layer is `stateful`.
struct LSTM : Layer {
  /// Throws InvalidArgument for units below 1 and dropout rates outside [0, 1).
  explicit LSTM(const LstmOptions& options);
};

}  // namespace lockstep
