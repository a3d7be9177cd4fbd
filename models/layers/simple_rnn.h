#pragma once

#include <cstdint>
#include <string>

#include <lockstep/kernels/activation.h>
#include <lockstep/models/layers/initializers.h>
#include <lockstep/models/layers/layer.h>

namespace lockstep {

/// SimpleRNN's options.
struct SimpleRnnOptions {
  ///@{
  /// Keras' arguments, with the same names and defaults. Arguments without a default in Keras are required.
  std::int64_t units = 0;
  bool return_sequences = false;      ///< returns h of all time steps, not only of the last one
  bool return_state = false;          ///< a further result is the last h, (units)
  bool go_backwards = false;          ///< runs from the last time step to the first
  bool stateful = false;              ///< a batch starts from the last states of the batch before it; see reset_states
  bool zero_output_for_mask = false;  ///< the result of a masked step is 0 instead of the last unmasked step's result
  Activation activation = Activation::tanh;
  bool use_bias = true;
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
  double recurrent_dropout = 0;  ///< dropout rate of h before its product with recurrent_kernel
  std::string name{};
  ///@}
  void describe(LayerConfig& config);  ///< writes or reads the options
};

/// Keras' SimpleRNN: h = activation(x kernel + bias + h recurrent_kernel), starting from h = 0; (time, features) ->
/// (units) or, with `return_sequences`, (time, units). Weights: kernel (features, units), recurrent_kernel (units,
/// units), and bias (units). A call on {x, h} starts from the state h, (units), instead of 0.
struct SimpleRNN : Layer {
  /// Throws InvalidArgument for units below 1 and dropout rates outside [0, 1).
  explicit SimpleRNN(const SimpleRnnOptions& options);
};

}  // namespace lockstep
