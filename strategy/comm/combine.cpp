#include "lockstep/strategy/comm/combine.h"

#include <cstddef>
#include <cstdint>
#include <vector>

#include <fmt/ranges.h>

#include <lockstep/kernels/op/layout.h>
#include <lockstep/kernels/op/transfer.h>
#include <lockstep/kernels/update/update_kernels.h>

namespace lockstep {

Tensor combine(ReduceOp op, std::span<const Tensor> values) {
  const Tensor& first = values.front();
  for (std::size_t replica = 0; replica < values.size(); ++replica) {
    const Tensor& value = values[replica];
    require(value.defined() && value.is_dense(), "the values to combine must be dense, replica {} has {}", replica,
            value);
    require(value.shape() == first.shape() && value.dtype() == first.dtype(),
            "the values to combine must have the same shape and dtype, replica 0 has {}, replica {} has {}", first,
            replica, value);
  }
  const LogicalDevice& here = current_context().device;
  std::vector<Tensor> read;
  for (const Tensor& value : values) read.push_back(reachable_from(here, value));
  const Tensor result = Tensor::empty(first.shape(), first.dtype());
  visit_reducible(op, first.dtype(), [&]<class T>() {
    std::vector<const T*> in;
    for (const Tensor& value : read) in.push_back(value.data<T>());
    T* const out = result.data<T>();
    launch(kernels::Reduce{op, ReduceViews<T>{.in = in, .out = std::span(&out, 1), .count = result.elements()}});
  });
  return result;
}

bool joinable(const Shape& a, const Shape& b, int axis) {
  if (a.rank() != b.rank()) return false;
  Shape shape = b;
  shape[axis] = a[axis];
  return a == shape;
}

Tensor gather_values(std::span<const Tensor> values, int axis) {
  const Tensor& first = values.front();
  require(first.defined() && first.rank() >= 1,
          "scalars cannot be joined along an axis: reshape them to (1) first, got {}", first);
  axis = first.shape().normalize_axis(axis);
  Shape shape = first.shape();
  shape[axis] = 0;
  for (const Tensor& value : values) {
    require(value.defined() && value.dtype() == first.dtype() && joinable(value.shape(), first.shape(), axis),
            "values joined along axis {} must agree in dtype, rank and all other axes, the replicas have {}", axis,
            fmt::join(values, ", "));
    shape[axis] += value.shape()[axis];
  }
  const Tensor result = Tensor::empty(shape, first.dtype());
  std::int64_t begin = 0;
  for (const Tensor& value : values) {
    const std::int64_t end = begin + value.shape()[axis];
    assign(value, result.slice_view(axis, begin, end));
    begin = end;
  }
  return result;
}

}  // namespace lockstep
