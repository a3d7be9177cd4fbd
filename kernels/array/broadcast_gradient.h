#pragma once

#include <lockstep/kernels/op/gradient.h>
#include <lockstep/kernels/reduction/sum_axes.h>

namespace lockstep {

/// Contributes the gradient of an input of shape `shape` that was broadcast. compute(out) writes the gradient in the
/// output's shape, which is then summed to `shape`.
template <class Compute>
void contribute_broadcast(BackwardContext& c, int input, const Shape& shape, const Compute& compute) {
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
