#include "lockstep/strategy/core/scatter.h"

#include <algorithm>
#include <array>
#include <type_traits>

#include <lockstep/kernels/elementwise/elementwise_kernels.h>
#include <lockstep/kernels/op/transfer.h>
#include <lockstep/kernels/reduction/reduce_op.h>
#include <lockstep/kernels/update/reduce.h>
#include <lockstep/strategy/comm/combine.h>

namespace lockstep {
namespace {

template <class T>
T scaled(ScatterOp op, T element, T by) {
  using Bits = std::make_unsigned_t<T>;
  if (op == ScatterOp::mul) return static_cast<T>(static_cast<Bits>(element) * static_cast<Bits>(by));
  return by == -1 ? static_cast<T>(-static_cast<Bits>(element)) : element / by;
}

/// Multiplies or divides integers, for which no device has a kernel.
template <class T>
void scale_integers(ScatterOp op, const Tensor& value, const Tensor& row) {
  std::vector<T> elements = row.to_vector<T>();
  const std::vector<T> by = value.to_vector<T>();
  for (std::size_t i = 0; i < elements.size(); ++i) elements[i] = scaled(op, elements[i], by[i]);
  copy(Tensor::from(elements, row.shape()), row);
}

bool scales(ScatterOp op) { return op == ScatterOp::mul || op == ScatterOp::div; }

void apply_to_row(ScatterOp op, const Tensor& value, const Tensor& row) {
  if (scales(op) && is_integer(row.dtype()))
    return row.dtype() == DType::i32 ? scale_integers<std::int32_t>(op, value, row)
                                     : scale_integers<std::int64_t>(op, value, row);
  const auto keep = [&](ReduceOp extreme) {
    const std::array both{row, value};
    copy(combine(extreme, both), row);
  };
  switch (op) {
    case ScatterOp::add:
      return launch(kernels::Binary{BinaryOp::add, row, value, row});
    case ScatterOp::sub:
      return launch(kernels::Binary{BinaryOp::subtract, row, value, row});
    case ScatterOp::mul:
      return launch(kernels::Binary{BinaryOp::multiply, row, value, row});
    case ScatterOp::div:
      return launch(kernels::Binary{BinaryOp::divide, row, value, row});
    case ScatterOp::min:
      return keep(ReduceOp::min);
    case ScatterOp::max:
      return keep(ReduceOp::max);
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
  require(!scales(op) || to.dtype() == DType::f32 || is_integer(to.dtype()), "{} takes f32, i32 or i64, got {}",
          name(op), to);
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
