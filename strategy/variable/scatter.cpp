#include "lockstep/strategy/variable/scatter.h"

#include <array>

#include <lockstep/kernels/backend.h>
#include <lockstep/kernels/ops/transfer.h>
#include <lockstep/strategy/core/combine.h>

namespace lockstep {
namespace {

void apply_to_row(ScatterOp op, const Tensor& value, const Tensor& row) {
  const auto keep = [&](ReduceOp extreme) {
    const std::array both{row, value};
    copy(combine(extreme, both), row);
  };
  switch (op) {
    case ScatterOp::add:
      return current_backend().accumulate(value, 1, row);
    case ScatterOp::sub:
      return current_backend().accumulate(value, -1, row);
    case ScatterOp::mul:
      return current_backend().binary(BinaryOp::multiply, row, value, row);
    case ScatterOp::div:
      return current_backend().binary(BinaryOp::divide, row, value, row);
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
  const bool scales = op == ScatterOp::mul || op == ScatterOp::div;
  require(!scales || to.dtype() == DType::f32, "{} takes f32, got {}", name(op), to);
  const std::vector<std::int64_t> indices = slices.indices.to_vector<std::int64_t>();
  for (const std::int64_t index : indices)
    require(index >= 0 && index < to.dim(0), "{}: index {} is outside the {} rows of {}", name(op), index, to.dim(0),
            to);
  const ContextScope there(context_on(to.device()));
  const Tensor values = reachable_from(to.device(), slices.values);
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(indices.size()); ++i) {
    const std::int64_t row = indices[static_cast<std::size_t>(i)];
    apply_to_row(op, values.slice_view(0, i, i + 1), to.slice_view(0, row, row + 1));
  }
}

}  // namespace lockstep
