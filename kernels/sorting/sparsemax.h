#pragma once

#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep {

/// The point nearest to the logits, along `axis` (a negative one counts from the end), among the vectors of
/// non-negative numbers with sum 1 (Martins and Astudillo 2016). keras.ops.sparsemax differs: the results of Keras 3.15
/// do not have the sum 1. f32 or bf16; differentiable. Throws InvalidArgument for other dtypes, undefined tensors and
/// an axis that the logits do not have.
Tensor sparsemax(const Tensor& logits, int axis = -1);

}  // namespace lockstep
