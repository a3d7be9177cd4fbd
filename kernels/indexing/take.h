#pragma once

#include <cstdint>
#include <optional>

#include <lockstep/runtime/tensor/tensor.h>

// Select elements by indices (i64, i32 or u8); negative indices count from the end. x has any dtype. Differentiable in
// x; the gradient adds the contributions of equal indices in the order of the indices. Throw InvalidArgument for
// undefined tensors, indices of other dtypes or shapes, an axis that x does not have, and an index out of range. The
// error for an index names the index and its position; on GPUs, the next synchronization throws it, and it names only
// the position.

namespace lockstep {

/// The slices of x along `axis` (a negative axis counts from the end) at `indices`, like numpy.take. The indices have
/// any shape; the shape of the result is x's with `axis` replaced by the shape of the indices. Without an axis,
/// `indices` are positions in x's row-major order, and the result has the shape of the indices.
Tensor take(const Tensor& x, const Tensor& indices, std::optional<int> axis = {});

/// y[..., i, ...] = x[..., indices[..., i, ...], ...] along `axis`, like numpy.take_along_axis. The indices have x's
/// rank; the axes of x and `indices` other than `axis` broadcast.
Tensor take_along_axis(const Tensor& x, const Tensor& indices, int axis);

}  // namespace lockstep
