#pragma once

#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep {

/// Looks up rows of `table` (rows, ...), f32 or bf16, by `ids` (any shape; i64, i32 or u8). The result has the shape of
/// `ids` followed by the shape of a row. The gradient of the table is IndexedSlices if the caller accepts them
/// (GradientTape::gradient_or_slices, an optimizer's minimize), else dense. Throws InvalidArgument for other dtypes,
/// and for an id outside the table, naming the id and its position. On GPUs the error for an id is thrown by the next
/// synchronization and names the position only.
Tensor embedding_lookup(const Tensor& table, const Tensor& ids);

}  // namespace lockstep
