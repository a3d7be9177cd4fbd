#pragma once

#include <lockstep/kernels/recurrence/recurrent_states.h>
#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep {

/// Keras' GRU with reset_after=True over x (n, time, features). kernel (features, 3 units), recurrent_kernel (units, 3
/// units) and bias (2, 3 units; row 0 for the input, row 1 for the state) hold the gates and the candidate in the order
/// z, r, h. Activations are tanh and sigmoid; the initial state is 0. Returns h of the last step (n, units), or with
/// `return_sequences` of every step (n, time, units). All tensors are f32. Differentiable in all operands, but
/// second-order gradients throw Unsupported; use the op of composed_recurrence.h for second-order gradients. Throws
/// InvalidArgument for other shapes and dtypes, and if time, features or units is 0.
Tensor gru(const Tensor& x, const Tensor& kernel, const Tensor& recurrent_kernel, const Tensor& bias,
           bool return_sequences = false);

/// Like gru above, but starts from the state `initial`, (n, units), instead of 0; `initial.c` is not read, and `c` of
/// the result is undefined. Computed step by step on all devices, without cuDNN. Also differentiable in `initial`.
RecurrentStates gru(const Tensor& x, const Tensor& kernel, const Tensor& recurrent_kernel, const Tensor& bias,
                    const RecurrentStates& initial, bool return_sequences);

}  // namespace lockstep
