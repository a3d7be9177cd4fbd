#pragma once

#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep {

/// An LSTM over x (n, time, features), as Keras computes it: kernel (features, 4 units), recurrent_kernel
/// (units, 4 units) and bias (4 units) hold the gates in the order i, f, c, o; tanh and sigmoid; the states start at 0.
/// -> h of the last step (n, units) or, with `return_sequences`, of every step (n, time, units). f32; differentiable in
/// all four. Throws InvalidArgument naming the shapes.
Tensor lstm(const Tensor& x, const Tensor& kernel, const Tensor& recurrent_kernel, const Tensor& bias,
            bool return_sequences = false);

}  // namespace lockstep
