#pragma once

#include <lockstep/kernels/activation.h>
#include <lockstep/runtime/tensor/tensor.h>

// LSTM and GRU with options that lstm.h and gru.h do not have, composed of other ops. Shapes, dtypes and errors are as
// there, except that the bias may be undefined. f32; differentiable in all operands.

namespace lockstep {

/// The options of Keras' recurrent layers.
struct RecurrenceOptions {
  ///@{
  /// Keras' arguments of these names, with its defaults.
  Activation activation = Activation::tanh;
  Activation recurrent_activation = Activation::sigmoid;
  bool reset_after = true;    ///< GRU only: see gru
  bool go_backwards = false;  ///< goes from the last time step to the first and returns results in that order
  bool return_sequences = false;
  ///@}
  /// Whether all options are equal.
  friend bool operator==(const RecurrenceOptions&, const RecurrenceOptions&) = default;
};

/// lstm (lstm.h) with options; `reset_after` is ignored.
Tensor lstm(const Tensor& x, const Tensor& kernel, const Tensor& recurrent_kernel, const Tensor& bias,
            const RecurrenceOptions& options);

/// gru (gru.h) with options. Without reset_after the reset gate multiplies the state before the product with the
/// recurrent kernel, and the bias is (3 units).
Tensor gru(const Tensor& x, const Tensor& kernel, const Tensor& recurrent_kernel, const Tensor& bias,
           const RecurrenceOptions& options);

}  // namespace lockstep
