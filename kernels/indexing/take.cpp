#include "lockstep/kernels/indexing/take.h"

#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/array/shapes.h>
#include <lockstep/kernels/indexing/indexing_kernels.h>
#include <lockstep/kernels/indexing/indices.h>
#include <lockstep/kernels/op/broadcast.h>
#include <lockstep/kernels/op/checks.h>
#include <lockstep/kernels/op/gathered_rows.h>
#include <lockstep/kernels/op/layout.h>
#include <lockstep/kernels/op/transfer.h>
#include <lockstep/kernels/reduction/axis_groups.h>

namespace lockstep {
namespace {

/// x's shape with `axis` replaced by the shape of the indices.
Shape taken_shape(const Shape& x, const Shape& indices, int axis) {
  Shape shape;
  for (int before = 0; before < axis; ++before) shape.push_back(x[before]);
  for (const std::int64_t size : indices) shape.push_back(size);
  for (int after = axis + 1; after < x.rank(); ++after) shape.push_back(x[after]);
  return shape;
}

/// Numbers of the elements of x that take_along_axis takes.
Tensor flat_indices_along(const Tensor& indices, const Shape& around, std::int64_t size) {
  const Tensor flat = Tensor::empty(around, DType::i64);
  const std::int64_t outside = launch(kernels::FlatIndicesAlong{indices.view(around), size, flat});
  require(outside < 0, "take_along_axis: index {} at place {} is outside the {} elements of the axis",
          outside < 0 ? 0 : indices.to_vector<std::int64_t>()[static_cast<std::size_t>(outside)], outside, size);
  return flat.view({flat.elements()});
}

}  // namespace

Tensor take(const Tensor& operand, const Tensor& indices, std::optional<int> along) try {
  require_defined("take", operand);
  if (!along) return take(reshape(operand, {operand.elements()}), indices, 0);
  const int axis = operand.shape().normalize_axis(*along);
  const Tensor chosen = as_indices("take", "indices", indices);
  const Tensor x = to_current_device(operand);
  const std::int64_t n = chosen.elements();
  const Shape around = around_axis(x.shape(), axis);
  const Tensor flat = flat_indices("take", chosen.view({n, 1}), {around[1]});
  return gathered_rows("take", x, around, flat, taken_shape(x.shape(), indices.shape(), axis));
} catch (Error& error) {
  rethrow_from("take", error);
}

Tensor take_along_axis(const Tensor& operand, const Tensor& indices, int axis) try {
  require_defined("take_along_axis", operand);
  axis = operand.shape().normalize_axis(axis);
  const Tensor given = as_indices("take_along_axis", "indices", indices);
  require(given.rank() == operand.rank(), "take_along_axis takes indices of x's rank, got {} for x {}", indices,
          operand.shape());
  Shape whole = operand.shape();
  Shape chosen = given.shape();
  whole[axis] = chosen[axis] = 1;
  whole = chosen = broadcast_shape("take_along_axis", whole, chosen);
  whole[axis] = operand.shape()[axis];
  chosen[axis] = given.shape()[axis];
  const Tensor x = broadcast_to(to_current_device(operand), whole);
  const Tensor flat =
      flat_indices_along(make_dense(given.broadcast_view(chosen)), around_axis(chosen, axis), whole[axis]);
  return gathered_rows("take_along_axis", x, {1, x.elements(), 1}, flat, chosen);
} catch (Error& error) {
  rethrow_from("take_along_axis", error);
}

}  // namespace lockstep
