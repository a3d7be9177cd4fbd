#pragma once

#include <vector>

#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/op/gradient.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/kernels/reduction/sum_axes.h>

namespace lockstep {

/// Sums x over the axes along which `shape` was broadcast to x's shape. Differentiable.
inline Tensor summed_to(const Tensor& x, const Shape& shape) {
  if (x.shape() == shape) return x;
  std::vector<int> axes;
  const int added = x.rank() - shape.rank();
  for (int axis = 0; axis < x.rank(); ++axis)
    if (axis < added || shape[axis - added] != x.shape()[axis]) axes.push_back(axis);
  return reshape(sum(x, axes), shape);
}

/// Contributes the gradient of the op's input number `input`, whose shape `shape` was broadcast to the output's shape.
/// compute(out) must write the gradient in the output's shape, before it is summed over the broadcast axes, to `out`.
/// If a tape records the gradient, ops() is called instead; it must compute the same tensor with differentiable ops and
/// return it.
template <class Compute, class Ops>
void contribute_broadcast(BackwardContext& c, int input, const Shape& shape, const Compute& compute, const Ops& ops) {
  if (c.is_recorded()) return contribute_ops(c, input, [&] { return summed_to(ops(), shape); });
  const Shape& full = c.gradient(0).shape();
  if (shape == full) return contribute(c, input, shape, compute, c.gradient(0).dtype());
  contribute(
      c, input, shape,
      [&](const Tensor& out) {
        const Tensor unreduced = Tensor::empty(full, out.dtype());
        compute(unreduced);
        sum_to_shape(unreduced, out);
      },
      c.gradient(0).dtype());
}

}  // namespace lockstep
