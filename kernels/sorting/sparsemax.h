#pragma once

#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep {

/// The Euclidean projection of the logits along `axis` onto the probability simplex (Martins and Astudillo 2016): the
/// nearest vector of non-negative numbers with the sum 1. A negative axis counts from the end. Differs from
/// keras.ops.sparsemax of Keras 3.15, whose results in general do not sum to 1 if several are positive. f32 or bf16;
/// differentiable. Throws InvalidArgument for other dtypes, undefined tensors, an axis that the logits do not have, and
/// an axis of size 0. On GPUs, throws Unsupported for 2^31 logits or more.
Tensor sparsemax(const Tensor& logits, int axis = -1);

}  // namespace lockstep
