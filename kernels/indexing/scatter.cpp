#include "lockstep/kernels/indexing/scatter.h"

#include <lockstep/kernels/elementwise/place_kernels.h>
#include <lockstep/kernels/indexing/indices.h>
#include <lockstep/kernels/op/checks.h>
#include <lockstep/kernels/op/gradient.h>
#include <lockstep/kernels/op/layout.h>
#include <lockstep/kernels/op/rows_kernels.h>

namespace lockstep {
namespace {

/// A tensor of a shape as rows that indices choose, and how many are chosen.
struct Rows {
  Shape whole;   ///< (1, rows, elements of a row) of the tensor written to
  Shape chosen;  ///< (1, n, elements of a row) of the values
  Tensor flat;   ///< (n): the rows' numbers
};

std::int64_t product(const Shape& shape, int begin, int end) {
  std::int64_t result = 1;
  for (int axis = begin; axis < end; ++axis) result *= shape[axis];
  return result;
}

/// Checks the operands of `op`.
Rows rows_of(const char* op, const Shape& whole, const Tensor& indices, const Tensor& values) {
  const Tensor chosen = as_indices(op, "indices", indices);
  require_number(op, values);
  const int axes = chosen.rank() == 0 ? 0 : static_cast<int>(chosen.dim(-1));
  require(axes >= 1 && axes <= whole.rank(), "{}: indices (..., d) of a tensor {} need a d of 1 to {}, got {}", op,
          whole, whole.rank(), indices);
  Shape expected;
  Shape sizes;
  for (int axis = 0; axis < chosen.rank() - 1; ++axis) expected.push_back(chosen.shape()[axis]);
  for (int axis = 0; axis < whole.rank(); ++axis) (axis < axes ? sizes : expected).push_back(whole[axis]);
  require(values.shape() == expected, "{}: values for indices {} of a tensor {} must have shape {}, got {}", op,
          indices.shape(), whole, expected, values);
  const std::int64_t n = product(chosen.shape(), 0, chosen.rank() - 1);
  const std::int64_t width = product(whole, axes, whole.rank());
  return {{1, sizes.elements(), width}, {1, n, width}, flat_indices(op, chosen.view({n, axes}), sizes)};
}

/// out (n) = 0, ..., n - 1.
Tensor numbers(std::int64_t n) {
  const Tensor result = Tensor::empty({n}, DType::i64);
  launch(kernels::Range{0, 1, result});
  return result;
}

/// out = dy at the rows, except for the updates that a later one has replaced: 0.
void gather_last(const Tensor& dy, const Rows& rows, const Tensor& out) {
  const std::int64_t n = rows.flat.elements();
  const Tensor last = Tensor::empty({1, rows.whole[1], 1}, DType::i64);  // number of the last update of each row
  launch(kernels::ScatterRows{numbers(n).view({1, n, 1}), rows.flat, Write::replace, last});
  const Tensor winners = Tensor::empty({n}, DType::i64);  // for each update the last one of its row
  launch(kernels::GatherRows{last, rows.flat, winners.view({1, n, 1})});
  const Tensor gathered = Tensor::empty(rows.chosen, dy.dtype());
  launch(kernels::GatherRows{make_dense(dy).view(rows.whole), rows.flat, gathered});
  launch(kernels::Fill{out, 0});
  launch(kernels::ScatterRows{gathered, winners, Write::replace, out.view(rows.chosen)});
}

Tensor updated_rows(const Rows& rows, const Tensor& x, const Tensor& updates);

void contribute_update_gradients(BackwardContext& c, const Rows& rows, const Shape& x, const Shape& updates) {
  const Tensor& dy = c.gradient(0);
  contribute_linear(
      c, 0, x,
      [&](const Tensor& out) {
        launch(kernels::Convert{dy, out});
        launch(kernels::ScatterRows{Tensor::zeros(rows.chosen, dy.dtype()), rows.flat, Write::replace,
                                    out.view(rows.whole)});
      },
      [rows, updates](const Tensor& d) { return updated_rows(rows, d, Tensor::zeros(updates, d.dtype())); },
      dy.dtype());
  contribute_linear(
      c, 1, updates, [&](const Tensor& out) { gather_last(dy, rows, out); },
      [rows, x](const Tensor& d) { return updated_rows(rows, Tensor::zeros(x, d.dtype()), d); }, dy.dtype());
}

/// x with the updates in place of its rows, for scatter_update.
Tensor updated_rows(const Rows& rows, const Tensor& x, const Tensor& updates) {
  const Tensor y = Tensor::empty(x.shape(), x.dtype());
  launch(kernels::Convert{x, y});
  launch(kernels::ScatterRows{make_dense(updates).view(rows.chosen), rows.flat, Write::replace, y.view(rows.whole)});
  if (recording({x, updates})) {
    record("scatter_update", {x, updates}, y, [rows, x = x.shape(), updates = updates.shape()](BackwardContext& c) {
      contribute_update_gradients(c, rows, x, updates);
    });
  }
  return y;
}

/// scatter, for `op`: y of this shape.
Tensor added_rows(const char* op, const Rows& rows, const Tensor& values, const Shape& shape) {
  const Tensor y = Tensor::zeros(shape, values.dtype());
  launch(kernels::ScatterRows{make_dense(values).view(rows.chosen), rows.flat, Write::add, y.view(rows.whole)});
  if (recording({values})) {
    record(op, {values}, y, [op, rows, from = values.shape(), shape](BackwardContext& c) {
      const Tensor& dy = c.gradient(0);
      contribute_linear(
          c, 0, from,
          [&](const Tensor& out) {
            launch(kernels::GatherRows{make_dense(dy).view(rows.whole), rows.flat, out.view(rows.chosen)});
          },
          [=](const Tensor& d) { return added_rows(op, rows, d, shape); }, dy.dtype());
    });
  }
  return y;
}

Tensor added_rows(const char* op, const Tensor& indices, const Tensor& values, const Shape& shape) {
  const Rows rows = rows_of(op, shape, indices, values);
  return added_rows(op, rows, to_current_device(values), shape);
}

}  // namespace

Tensor scatter(const Tensor& indices, const Tensor& values, const Shape& shape) try {
  return added_rows("scatter", indices, values, shape);
} catch (Error& error) {
  rethrow_from("scatter", error);
}

Tensor scatter_update(const Tensor& operand, const Tensor& indices, const Tensor& new_values) try {
  require_defined("scatter_update", operand);
  const Rows rows = rows_of("scatter_update", operand.shape(), indices, new_values);
  require(operand.dtype() == new_values.dtype(), "scatter_update takes tensors of one dtype, got {} and {}; cast one",
          operand, new_values);
  return updated_rows(rows, to_current_device(operand), to_current_device(new_values));
} catch (Error& error) {
  rethrow_from("scatter_update", error);
}

Tensor segment_sum(const Tensor& data, const Tensor& segment_ids, std::int64_t segments) try {
  require(data.defined() && data.rank() >= 1, "segment_sum takes rows (n, ...), got {}", data);
  const Tensor ids = as_indices("segment_sum", "segment_ids", segment_ids);
  require(ids.shape() == Shape{data.dim(0)}, "segment_sum takes segment_ids of shape ({}) for the rows of {}, got {}",
          data.dim(0), data, segment_ids);
  require(segments >= 0, "segment_sum takes at least 0 segments, got {}", segments);
  Shape shape = data.shape();
  shape[0] = segments;
  return added_rows("segment_sum", ids.view({ids.elements(), 1}), data, shape);
} catch (Error& error) {
  rethrow_from("segment_sum", error);
}

}  // namespace lockstep
