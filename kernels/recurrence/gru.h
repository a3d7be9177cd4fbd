#pragma once

#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep {

/// A GRU over x (n, time, features), as Keras computes it with reset_after=True: kernel (features, 3 units),
/// recurrent_kernel (units, 3 units) and bias (2, 3 units), of the input and of the state, hold the gates in the order
/// z, r, h; tanh and sigmoid; the state starts at 0. -> h of the last step (n, units) or, with `return_sequences`, of
/// every step (n, time, units). f32; differentiable in all four. Throws InvalidArgument naming the shapes.
Tensor gru(const Tensor& x, const Tensor& kernel, const Tensor& recurrent_kernel, const Tensor& bias,
           bool return_sequences = false);

}  // namespace lockstep
