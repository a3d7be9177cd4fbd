#include "lockstep/strategy/core/scatter.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include <lockstep/kernels/elementwise/binary_functions.h>
#include <lockstep/kernels/elementwise/elementwise_kernels.h>
#include <lockstep/kernels/op/transfer.h>

namespace lockstep {
namespace {

/// Divides integers and rounds towards 0, for which no device has a kernel.
template <class T>
void divide_integers(const Tensor& row, const Tensor& value) {
  std::vector<T> elements = row.to_vector<T>();
  const std::vector<T> by = value.to_vector<T>();
  for (std::size_t i = 0; i < elements.size(); ++i)
    elements[i] = by[i] == -1 ? functor::Subtract()(T{0}, elements[i]) : elements[i] / by[i];  // -1: may overflow
  copy(Tensor::from(elements, row.shape()), row);
}

void apply_to_row(ScatterOp op, const Tensor& value, const Tensor& row) {
  const auto apply = [&](BinaryOp binary) { launch(kernels::Binary{binary, row, value, row}); };
  switch (op) {
    case ScatterOp::add:
      return apply(BinaryOp::add);
    case ScatterOp::sub:
      return apply(BinaryOp::subtract);
    case ScatterOp::mul:
      return apply(BinaryOp::multiply);
    case ScatterOp::div:
      if (row.dtype() == DType::i32) return divide_integers<std::int32_t>(row, value);
      if (row.dtype() == DType::i64) return divide_integers<std::int64_t>(row, value);
      return apply(BinaryOp::divide);
    case ScatterOp::min:
      return apply(BinaryOp::minimum);
    case ScatterOp::max:
      return apply(BinaryOp::maximum);
    case ScatterOp::update:
      return copy(value, row);
  }
}

}  // namespace

std::string_view name(ScatterOp op) {
  constexpr std::string_view names[] = {"scatter_add", "scatter_sub", "scatter_mul",   "scatter_div",
                                        "scatter_min", "scatter_max", "scatter_update"};
  return names[static_cast<int>(op)];
}

void scatter(ScatterOp op, const IndexedSlices& slices, const Tensor& to) {
  check_shapes(slices);
  require(slices.dense_shape == to.shape() && slices.values.dtype() == to.dtype(), "{} of {} does not fit {}", name(op),
          slices.text(), to);
  const bool scales = op == ScatterOp::mul || op == ScatterOp::div;
  const bool computes = to.dtype() == DType::f32 || is_integer(to.dtype()) || (!scales && to.dtype() == DType::bf16);
  require(op == ScatterOp::update || computes, "{} takes f32{}, i32 or i64, got {}", name(op), scales ? "" : ", bf16",
          to);
  const std::vector<std::int64_t> indices = slices.indices.to_vector<std::int64_t>();
  for (const std::int64_t index : indices)
    require(index >= 0 && index < to.dim(0), "{}: index {} is outside the {} rows of {}", name(op), index, to.dim(0),
            to);
  if (op == ScatterOp::div && is_integer(to.dtype())) {
    const std::vector<std::int64_t> divisors = slices.values.to_vector<std::int64_t>();
    require(std::ranges::find(divisors, 0) == divisors.end(), "{} of {}: an integer cannot be divided by 0", name(op),
            to);
  }
  const ContextScope there(context_on(to.device()));
  const Tensor values = reachable_from(to.device(), slices.values);
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(indices.size()); ++i) {
    const std::int64_t row = indices[static_cast<std::size_t>(i)];
    apply_to_row(op, values.slice_view(0, i, i + 1), to.slice_view(0, row, row + 1));
  }
}

}  // namespace lockstep
