#pragma once

#include <lockstep/kernels/recurrence/recurrent_states.h>
#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep {

/// Keras' LSTM over x (n, time, features). kernel (features, 4 units), recurrent_kernel (units, 4 units) and bias (4
/// units) hold the gates i, f and o and the candidate c in the order i, f, c, o. Activations are tanh and sigmoid; the
/// initial states are 0. Returns h of the last step (n, units), or with `return_sequences` of every step (n, time,
/// units). All tensors are f32. Differentiable in all operands, but second-order gradients throw Unsupported; use the
/// op of composed_recurrence.h for second-order gradients. Throws InvalidArgument for other shapes and dtypes, and if
/// time, features or units is 0.
Tensor lstm(const Tensor& x, const Tensor& kernel, const Tensor& recurrent_kernel, const Tensor& bias,
            bool return_sequences = false);

/// Like lstm above, but starts from the states `initial`, (n, units) each, instead of 0. Returns the hidden state h and
/// the cell state c, both in the shape of lstm's result. Computed step by step on all devices, without cuDNN. Also
/// differentiable in `initial`.
RecurrentStates lstm(const Tensor& x, const Tensor& kernel, const Tensor& recurrent_kernel, const Tensor& bias,
                     const RecurrentStates& initial, bool return_sequences);

}  // namespace lockstep
