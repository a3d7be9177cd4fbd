#pragma once

#include <lockstep/kernels/activation.h>
#include <lockstep/kernels/recurrence/recurrent_states.h>
#include <lockstep/runtime/tensor/tensor.h>

// Recurrent ops composed of other ops: LSTM and GRU with more options than in lstm.h and gru.h, and SimpleRNN. Shapes,
// dtypes and errors are as in lstm.h and gru.h, except that the bias may be undefined. Operands are f32. The ops are
// differentiable in all operands. All return the states after the last step, (n, units) each, or, with
// return_sequences, the states after every step, (n, time, units) each. Initial states, if defined, are f32 (n, units);
// only lstm uses `initial.c`, but all ops check it.

namespace lockstep {

/// The options of Keras' recurrent layers. Each op ignores the options that its Keras layer does not have.
struct RecurrenceOptions {
  ///@{
  /// Keras' arguments of these names, with its defaults.
  Activation activation = Activation::tanh;
  Activation recurrent_activation = Activation::sigmoid;
  bool reset_after = true;    ///< only for gru, which describes it
  bool go_backwards = false;  ///< processes the time steps from last to first and returns results in that order
  bool return_sequences = false;
  ///@}
  /// Whether all options are equal.
  friend bool operator==(const RecurrenceOptions&, const RecurrenceOptions&) = default;
};

/// The factors with which a recurrent layer's dropout multiplies x and h, the same in all time steps; an undefined
/// tensor means no dropout. `gates` is 4 for lstm, 3 for gru and 1 for simple_rnn.
struct RecurrentDropout {
  Tensor input{};  ///< for x: (n, gates, features), separate for each gate, or (n, 1, features) for all gates
  Tensor state{};  ///< for the previous h in its products with the recurrent kernel: (n, gates or 1, units)
};

/// Like lstm (lstm.h), with options.
RecurrentStates lstm(const Tensor& x, const Tensor& kernel, const Tensor& recurrent_kernel, const Tensor& bias,
                     const RecurrenceOptions& options, const RecurrentDropout& dropout = {},
                     const RecurrentStates& initial = {});

/// Like gru (gru.h), with options. Without reset_after the reset gate multiplies the state before the product with the
/// recurrent kernel, and the bias is (3 units).
RecurrentStates gru(const Tensor& x, const Tensor& kernel, const Tensor& recurrent_kernel, const Tensor& bias,
                    const RecurrenceOptions& options, const RecurrentDropout& dropout = {},
                    const RecurrentStates& initial = {});

/// Keras' SimpleRNN: h = activation(x kernel + bias + h recurrent_kernel). kernel (features, units), recurrent_kernel
/// (units, units), bias (units).
RecurrentStates simple_rnn(const Tensor& x, const Tensor& kernel, const Tensor& recurrent_kernel, const Tensor& bias,
                           const RecurrenceOptions& options, const RecurrentDropout& dropout = {},
                           const RecurrentStates& initial = {});

}  // namespace lockstep
