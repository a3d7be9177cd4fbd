#pragma once

#include <string_view>

#include <lockstep/runtime/tensor/indexed_slices.h>
#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep {

/// How scattering changes a row.
enum class ScatterOp { add, sub, mul, div, min, max, update };

/// The name of the function: "scatter_add" etc.
std::string_view name(ScatterOp op);

/// For each i in increasing order, replaces row slices.indices[i] of `to` in place with `row op slices.values[i]` or,
/// for `update`, with slices.values[i]. Duplicate indices therefore accumulate, and the last `update` remains. Dtypes:
/// any for update; f32, bf16, i32 and i64 for add, sub, min and max; f32, i32 and i64 for mul and div. Integers wrap
/// around; their quotients are rounded towards 0. Throws InvalidArgument for other dtypes, for slices that differ from
/// `to` in shape or dtype, for an index out of range and for an integer division by 0. If it throws, nothing has been
/// written. Precondition: the slices do not share the memory of `to`.
void scatter(ScatterOp op, const IndexedSlices& slices, const Tensor& to);

}  // namespace lockstep
