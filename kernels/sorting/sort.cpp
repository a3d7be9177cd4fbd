#include "lockstep/kernels/sorting/sort.h"

#include <lockstep/kernels/indexing/take.h>
#include <lockstep/kernels/op/checks.h>
#include <lockstep/kernels/op/gradient.h>
#include <lockstep/kernels/op/transfer.h>
#include <lockstep/kernels/reduction/axis_groups.h>
#include <lockstep/kernels/sorting/sort_direction.h>
#include <lockstep/kernels/sorting/sorting_kernels.h>

namespace lockstep {
namespace {

/// The first `count` elements along `axis`, which must not be negative, and their indices.
TopK first_in_order(const char* op, const Tensor& operand, int axis, std::int64_t count, SortDirection direction) {
  const Tensor x = to_current_device(operand);
  Shape shape = x.shape();
  shape[axis] = count;
  const Shape all = around_axis(x.shape(), axis);
  const Shape first = around_axis(shape, axis);
  TopK y{Tensor::empty(shape, x.dtype()), Tensor::empty(shape, DType::i64)};
  launch(kernels::SortMiddle{make_dense(x).view(all), direction, y.values.view(first), y.indices.view(first)});
  if (is_real(x.dtype()) && recording({x})) {
    record(op, {x}, y.values,
           [axis, indices = y.indices, all, first, shape = x.shape(), dtype = x.dtype()](BackwardContext& c) {
             contribute_linear(
                 c, 0, shape,
                 [&](const Tensor& out) {
                   const Tensor dy = make_dense(c.gradient(0)).view(first);
                   launch(kernels::SortMiddleGradient{dy, indices.view(first), out.view(all)});
                 },
                 [axis, indices](const Tensor& d) { return take_along_axis(d, indices, axis); }, dtype);
           });
  }
  return y;
}

TopK sorted(const char* op, const Tensor& x, int axis, SortDirection direction) {
  require_defined(op, x);
  axis = x.shape().normalize_axis(axis);
  return first_in_order(op, x, axis, x.dim(axis), direction);
}

}  // namespace

Tensor sort(const Tensor& x, int axis, SortDirection direction) try {
  return sorted("sort", x, axis, direction).values;
} catch (Error& error) {
  rethrow_from("sort", error);
}

Tensor argsort(const Tensor& x, int axis, SortDirection direction) try {
  return sorted("argsort", x, axis, direction).indices;
} catch (Error& error) {
  rethrow_from("argsort", error);
}

TopK top_k(const Tensor& x, std::int64_t k) try {
  require_defined("top_k", x);
  require(x.rank() >= 1, "top_k needs at least one axis, got {}", x);
  require(k >= 1 && k <= x.dim(-1), "top_k along the last axis of {} takes a k of 1 to {}, got {}", x, x.dim(-1), k);
  return first_in_order("top_k", x, x.rank() - 1, k, SortDirection::descending);
} catch (Error& error) {
  rethrow_from("top_k", error);
}

}  // namespace lockstep
