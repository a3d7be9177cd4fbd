#include "lockstep/kernels/ops/indexed_slices.h"

#include <algorithm>
#include <array>

#include <lockstep/kernels/indexing/indexing_kernels.h>
#include <lockstep/kernels/ops/array.h>
#include <lockstep/kernels/ops/layout.h>
#include <lockstep/kernels/ops/transfer.h>
#include <lockstep/runtime/autograd/tape.h>

namespace lockstep {
namespace {

/// A dense tensor as (rows, the rest).
Tensor as_rows(const Tensor& x) {
  const std::int64_t rows = x.dim(0);
  std::int64_t width = 1;
  for (int axis = 1; axis < x.rank(); ++axis) width *= x.dim(axis);
  return x.view({rows, width});
}

void check_addable(const IndexedSlices& slices) {
  check_shapes(slices);
  const DType dtype = slices.values.dtype();
  require(is_real(dtype), "only rows of f32 and bf16 add up, got {}", slices.values);
}

/// The distinct indices in increasing order.
std::vector<std::int64_t> distinct(std::vector<std::int64_t> indices) {
  std::ranges::sort(indices);
  const auto rest = std::ranges::unique(indices);
  indices.erase(rest.begin(), rest.end());
  return indices;
}

}  // namespace

void scatter_add(const IndexedSlices& slices, const Tensor& to) try {
  check_addable(slices);
  require(to.shape() == slices.dense_shape && to.dtype() == slices.values.dtype(), "{} cannot be added to {}",
          slices.text(), to);
  const ContextScope there(context_on(to.device()));
  const Tensor indices = make_dense(reachable_from(to.device(), slices.indices));
  const Tensor values = make_dense(reachable_from(to.device(), slices.values));
  const std::int64_t outside = launch(kernels::ScatterAddRows{as_rows(values), indices, as_rows(to)});
  require(outside < 0, "index {} at place {} is outside {}",
          outside < 0 ? 0 : indices.to_vector<std::int64_t>()[static_cast<std::size_t>(outside)], outside,
          slices.text());
} catch (Error& error) {
  rethrow_from("scatter_add", error);
}

Tensor to_dense(const IndexedSlices& slices) try {
  check_addable(slices);
  const Tensor dense = Tensor::zeros(slices.dense_shape, slices.values.dtype());
  scatter_add(slices, dense);
  return dense;
} catch (Error& error) {
  rethrow_from("to_dense", error);
}

IndexedSlices sum_duplicates(const IndexedSlices& slices) try {
  check_addable(slices);
  const std::vector<std::int64_t> indices = slices.indices.to_vector<std::int64_t>();
  if (std::ranges::adjacent_find(indices, std::ranges::greater_equal{}) == indices.end()) return slices;
  const std::vector<std::int64_t> rows = distinct(indices);
  std::vector<std::int64_t> places;
  for (const std::int64_t index : indices) places.push_back(std::ranges::lower_bound(rows, index) - rows.begin());
  const auto count = static_cast<std::int64_t>(rows.size());
  Shape shape = slices.dense_shape;
  shape[0] = count;
  const IndexedSlices at_places{slices.values, Tensor::from(places, {slices.indices.elements()}), shape};
  return {to_dense(at_places), Tensor::from(rows, {count}), slices.dense_shape};
} catch (Error& error) {
  rethrow_from("sum_duplicates", error);
}

IndexedSlices joined(const IndexedSlices& a, const IndexedSlices& b) {
  if (!a.values.defined()) return b;
  require(a.dense_shape == b.dense_shape && a.values.dtype() == b.values.dtype(), "{} and {} are not of one tensor",
          a.text(), b.text());
  const NoGradientScope no_recording;
  return {concat(std::array{a.values, b.values}, 0), concat(std::array{a.indices, b.indices}, 0), a.dense_shape};
}

}  // namespace lockstep
