#pragma once

#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep {

/// Looks up rows of `table` (rows, ...), f32, by `ids` (any shape; i64, i32 or u8). The result's shape is that of ids
/// followed by that of a row. The gradient of the table is IndexedSlices where the caller accepts them
/// (GradientTape::gradient_or_slices, an optimizer's minimize), else dense. Throws InvalidArgument for other dtypes,
/// and for an id outside the table, naming it and its position.
Tensor embedding_lookup(const Tensor& table, const Tensor& ids);

}  // namespace lockstep
