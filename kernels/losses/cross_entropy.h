#pragma once

#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep {

/// Returns -log softmax(logits)[label] for each row: (n), in the logits' dtype. logits are (n, classes), f32 or bf16.
/// labels are (n) or (n, 1), of any dtype except bool; f32 and bf16 labels must be whole numbers. Differentiable in the
/// logits. Throws InvalidArgument for other shapes and dtypes, and for a label that is not a whole number in [0,
/// classes), naming its row and value. On GPUs, the error for a label is thrown by the next synchronization and names
/// the row only.
Tensor sparse_softmax_cross_entropy(const Tensor& logits, const Tensor& labels);

///@{
/// Binary cross-entropy of each element x of the first operand, f32 or bf16, with its target t; the result has the
/// operand's shape and dtype. sigmoid_cross_entropy takes logits: max(x, 0) - x t + log(1 + exp(-|x|)).
/// binary_cross_entropy takes probabilities: -(t log(p) + (1 - t) log(1 - p)), where p is x clipped to [1e-7, 1 - 1e-7]
/// as in Keras. `targets` have the shape of the first operand and any dtype; their values must be in [0, 1], which is
/// not checked. Differentiable in the first operand. Throw InvalidArgument for other shapes and dtypes.
Tensor sigmoid_cross_entropy(const Tensor& logits, const Tensor& targets);
Tensor binary_cross_entropy(const Tensor& probabilities, const Tensor& targets);
///@}

}  // namespace lockstep
