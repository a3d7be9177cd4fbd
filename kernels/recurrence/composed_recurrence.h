#pragma once

#include <lockstep/kernels/activation.h>
#include <lockstep/runtime/tensor/tensor.h>

// LSTM and GRU with other formulas than those of lstm.h and gru.h, composed of other ops. Shapes, dtypes and errors are
// theirs, but the bias may be undefined: there is none. f32; differentiable in all operands.

namespace lockstep {

/// The options of Keras' recurrent layers.
struct RecurrenceOptions {
  ///@{
  /// Keras' arguments of these names, with its defaults.
  Activation activation = Activation::tanh;
  Activation recurrent_activation = Activation::sigmoid;
  bool reset_after = true;    ///< of a GRU: see gru
  bool go_backwards = false;  ///< from the last time step to the first, in which order results are returned
  bool return_sequences = false;
  ///@}
  /// Whether all of them are equal.
  friend bool operator==(const RecurrenceOptions&, const RecurrenceOptions&) = default;
};

/// lstm of lstm.h.
Tensor lstm(const Tensor& x, const Tensor& kernel, const Tensor& recurrent_kernel, const Tensor& bias,
            const RecurrenceOptions& options);

/// gru of gru.h. Without reset_after the reset is applied to the state before it is multiplied with the recurrent
/// kernel, and the bias is (3 units).
Tensor gru(const Tensor& x, const Tensor& kernel, const Tensor& recurrent_kernel, const Tensor& bias,
           const RecurrenceOptions& options);

}  // namespace lockstep
