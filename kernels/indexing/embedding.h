#pragma once

#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep {

/// Rows ids (any shape, i64, i32 or u8) of `table` (rows, ...), f32: the shape of ids followed by a row's. The table's
/// gradient is IndexedSlices where they are taken (GradientTape::gradient_or_slices, an optimizer's minimize), else
/// dense. Throws InvalidArgument for an id outside the table, naming it and its place.
Tensor embedding_lookup(const Tensor& table, const Tensor& ids);

}  // namespace lockstep
