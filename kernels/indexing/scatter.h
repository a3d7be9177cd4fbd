#pragma once

#include <cstdint>

#include <lockstep/runtime/tensor/tensor.h>

// Write or add values at indices (i64, i32 or u8); negative indices count from the end. The last axis of `indices`
// (..., d) has one index for each of the first d axes of the tensor that is written to. The values are f32, bf16, i32
// or i64; their shape is the shape of `indices` without its last axis, followed by the remaining axes of that tensor.
// Sums of integers wrap around. Differentiable. Throw InvalidArgument for other dtypes and shapes, undefined tensors,
// and an index out of range. The error for an index names the index and its position; on GPUs, the next synchronization
// throws it, and it names only the position.

namespace lockstep {

/// A tensor of `shape` with the values at the indices and 0 elsewhere, like keras.ops.scatter; values at equal indices
/// are added in their order.
Tensor scatter(const Tensor& indices, const Tensor& values, const Shape& shape);

/// x with the elements at the indices replaced by `updates`, like keras.ops.scatter_update. Of several updates at equal
/// indices, the last one is kept; the gradients of the others are 0.
Tensor scatter_update(const Tensor& x, const Tensor& indices, const Tensor& updates);

/// data (n, ...) -> (segments, ...): row i of the result is the sum of the rows data[j] for which segment_ids[j] is i,
/// in the order of j. segment_ids (n) are indices of the result's rows; negative ones count from the end. Throws
/// InvalidArgument for a negative number of segments.
Tensor segment_sum(const Tensor& data, const Tensor& segment_ids, std::int64_t segments);

}  // namespace lockstep
