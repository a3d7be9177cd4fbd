#pragma once

#include <string_view>

#include <lockstep/runtime/tensor/indexed_slices.h>
#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep {

/// How scattering changes each named row, in the order of the indices, so that duplicates accumulate.
enum class ScatterOp { add, sub, mul, div, min, max, update };

/// "scatter_add" and so on.
std::string_view name(ScatterOp op);

/// Row slices.indices[i] of `to` becomes row op slices.values[i]; `update` replaces it. In place; f32, i32 and i64.
/// Integers wrap around, and their quotients are rounded towards 0. Throws InvalidArgument for slices of another shape
/// or dtype than `to`, for an index outside it and for an integer divided by 0, before anything is written.
void scatter(ScatterOp op, const IndexedSlices& slices, const Tensor& to);

}  // namespace lockstep
