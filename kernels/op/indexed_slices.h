#pragma once

#include <lockstep/runtime/tensor/indexed_slices.h>

// Arithmetic on IndexedSlices of f32 or bf16. Records nothing on tapes.

namespace lockstep {

/// Converts slices to a dense tensor on the calling thread's device; rows with the same index are added in their order.
/// Throws InvalidArgument for other dtypes, shapes that check_shapes rejects, and an index outside the tensor; on GPUs,
/// the next synchronization throws the error for an index.
Tensor to_dense(const IndexedSlices& slices);
/// Returns the value itself if it is dense, otherwise the result of to_dense.
Tensor as_dense(const DenseOrSparse& value);

/// Adds the rows in their order to the dense tensor `to`, of the slices' dense shape and dtype. Throws the errors of
/// to_dense; shapes and dtypes are checked before anything is written.
void scatter_add(const IndexedSlices& slices, const Tensor& to);

/// The same tensor as slices with distinct indices in increasing order: `slices` itself if its indices are already
/// distinct and increasing. Rows are added as in to_dense, with bit-identical results. Waits for the GPU that holds the
/// indices. Throws the errors of to_dense, but does not check whether the indices are inside the tensor.
IndexedSlices sum_duplicates(const IndexedSlices& slices);

/// The sum of `a` and `b`, as the rows of `a` followed by the rows of `b` on the calling thread's device; rows with the
/// same index are not added up. If `a` is undefined, returns `b`. Throws InvalidArgument when the dense shapes or
/// dtypes differ.
IndexedSlices joined(const IndexedSlices& a, const IndexedSlices& b);

}  // namespace lockstep
