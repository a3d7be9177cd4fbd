#include "lockstep/kernels/op/indexed_slices.h"

#include <algorithm>

#include <lockstep/kernels/op/layout.h>
#include <lockstep/kernels/op/rows_kernels.h>
#include <lockstep/kernels/op/transfer.h>

namespace lockstep {
namespace {

/// A view of a dense tensor as (1, rows, elements of a row).
Tensor as_rows(const Tensor& x) {
  const std::int64_t rows = x.dim(0);
  std::int64_t width = 1;
  for (int axis = 1; axis < x.rank(); ++axis) width *= x.dim(axis);
  return x.view({1, rows, width});
}

/// Throws InvalidArgument naming the op unless the slices are defined rows of f32 or bf16 with shapes that fit.
void check_addable(const char* op, const IndexedSlices& slices) {
  require(slices.values.defined() && slices.indices.defined(), "{} takes values and their indices, got {} and {}", op,
          slices.values, slices.indices);
  require(is_real(slices.values.dtype()), "{} takes rows of f32 or bf16, got {}", op, slices.values);
  check_shapes(slices);
}

/// The distinct indices in increasing order.
std::vector<std::int64_t> distinct(std::vector<std::int64_t> indices) {
  std::ranges::sort(indices);
  const auto rest = std::ranges::unique(indices);
  indices.erase(rest.begin(), rest.end());
  return indices;
}

/// The rows of `a` followed by those of `b`, on the calling thread's device.
Tensor one_behind_the_other(const Tensor& a, const Tensor& b) {
  Shape shape = a.shape();
  shape[0] += b.dim(0);
  const Tensor both = Tensor::empty(shape, a.dtype());
  assign(a, both.slice_view(0, 0, a.dim(0)));
  assign(b, both.slice_view(0, a.dim(0), shape[0]));
  return both;
}

}  // namespace

void scatter_add(const IndexedSlices& slices, const Tensor& to) try {
  check_addable("scatter_add", slices);
  require(to.defined(), "scatter_add takes a tensor to add to, got an undefined one");
  require(to.shape() == slices.dense_shape && to.dtype() == slices.values.dtype(), "{} cannot be added to {}",
          slices.text(), to);
  const ContextScope there(context_on(to.device()));
  const Tensor indices = make_dense(reachable_from(to.device(), slices.indices));
  const Tensor values = make_dense(reachable_from(to.device(), slices.values));
  const std::int64_t outside = launch(kernels::ScatterRows{as_rows(values), indices, Write::add, as_rows(to)});
  require(outside < 0, "index {} at place {} is outside {}",
          outside < 0 ? 0 : indices.to_vector<std::int64_t>()[static_cast<std::size_t>(outside)], outside,
          slices.text());
} catch (Error& error) {
  rethrow_from("scatter_add", error);
}

Tensor to_dense(const IndexedSlices& slices) try {
  check_addable("to_dense", slices);
  const Tensor dense = Tensor::zeros(slices.dense_shape, slices.values.dtype());
  scatter_add(slices, dense);
  return dense;
} catch (Error& error) {
  rethrow_from("to_dense", error);
}

Tensor as_dense(const DenseOrSparse& value) {
  const auto* const dense = std::get_if<Tensor>(&value);
  return dense ? *dense : to_dense(std::get<IndexedSlices>(value));
}

IndexedSlices sum_duplicates(const IndexedSlices& slices) try {
  check_addable("sum_duplicates", slices);
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

IndexedSlices joined(const IndexedSlices& a, const IndexedSlices& b) try {
  if (!a.values.defined()) return b;
  for (const IndexedSlices& part : {a, b}) check_addable("joined", part);
  require(a.dense_shape == b.dense_shape && a.values.dtype() == b.values.dtype(),
          "joined: {} and {} differ in dense shape or dtype", a.text(), b.text());
  return {one_behind_the_other(a.values, b.values), one_behind_the_other(a.indices, b.indices), a.dense_shape};
} catch (Error& error) {
  rethrow_from("joined", error);
}

}  // namespace lockstep
