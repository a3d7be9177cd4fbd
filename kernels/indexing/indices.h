#pragma once

#include <lockstep/runtime/tensor/tensor.h>

// Converts indices to the form that kernels require. Records nothing on tapes.

namespace lockstep {

/// `indices` as dense i64 on the calling thread's device. `what` names them in errors, e.g. "ids". Throws
/// InvalidArgument unless they are i64, i32 or u8.
Tensor as_indices(const char* op, const char* what, const Tensor& indices);

/// The row-major offsets (n), in a tensor of shape `sizes`, of the elements whose indices are the rows of `indices` (n,
/// axes), i64; negative indices count from the end. Throws InvalidArgument naming `op` and the first index out of
/// range; on GPUs, the next synchronization throws.
Tensor flat_indices(const char* op, const Tensor& indices, const Shape& sizes);

}  // namespace lockstep
