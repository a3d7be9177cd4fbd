#pragma once

#include <lockstep/runtime/tensor/indexed_slices.h>

// Arithmetic of IndexedSlices of f32 and bf16. Records nothing on tapes.

namespace lockstep {

/// The whole tensor; rows of one index are added up in their order.
/// Throws InvalidArgument for other dtypes, shapes that do not fit, and an index outside the tensor.
Tensor to_dense(const IndexedSlices& slices);

/// Adds the rows, in their order, to a dense tensor of the slices' dense shape and dtype. Throws as to_dense, before
/// anything is written where shapes or dtypes do not fit.
void scatter_add(const IndexedSlices& slices, const Tensor& to);

/// The same tensor with each index once, in increasing order. What was added up in the order of the rows is the same to
/// the bit as in to_dense. Throws as to_dense.
IndexedSlices sum_duplicates(const IndexedSlices& slices);

/// The rows of `a`, then those of `b`, not added up: the sum of both. `a` may be undefined. Throws InvalidArgument when
/// the dense shapes or dtypes differ.
IndexedSlices joined(const IndexedSlices& a, const IndexedSlices& b);

}  // namespace lockstep
