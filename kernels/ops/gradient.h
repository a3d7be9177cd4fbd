#pragma once

#include <lockstep/kernels/backend.h>
#include <lockstep/kernels/ops/indexed_slices.h>
#include <lockstep/kernels/ops/layout.h>
#include <lockstep/runtime/autograd/tape.h>

// How an op's backward function hands gradients to the tape.

namespace lockstep {

/// Gives input `input` a gradient of `shape` that compute(out) writes into the dense tensor `out`; calls nothing when
/// it is not wanted. The first contribution is written straight to the caller's destination, if there is one.
template <class Compute>
void contribute(BackwardContext& c, int input, const Shape& shape, Compute compute, DType dtype = DType::f32) {
  if (!c.needs(input)) return;
  const Tensor so_far = c.contributed(input);
  if (!so_far.defined()) {
    const Tensor destination = c.destination(input);
    const Tensor out = destination.defined() ? destination : Tensor::empty(shape, dtype);
    compute(out);
    if (const IndexedSlices& rows = c.rows(input); rows.values.defined()) {
      scatter_add(rows, out);
      c.set_rows(input, {});
    }
    c.set(input, out, true);
    return;
  }
  const Tensor gradient = Tensor::empty(shape, dtype);
  compute(gradient);
  if (c.owns_contributed(input)) {
    current_backend().accumulate(gradient, 1, so_far);
  } else {
    current_backend().accumulate(so_far, 1, gradient);
    c.set(input, gradient, true);
  }
}

/// Hands over a tensor that others may read too, such as the output's gradient or a view of it. It has the input's
/// shape and any strides. Copied only when the caller of backward wants it elsewhere.
inline void pass_on(BackwardContext& c, int input, const Tensor& gradient) {
  if (!c.needs(input)) return;
  const Tensor so_far = c.contributed(input);
  if (!so_far.defined() && !c.destination(input).defined() && !c.rows(input).values.defined())
    c.set(input, gradient, false);
  else if (so_far.defined() && c.owns_contributed(input))
    current_backend().accumulate(gradient, 1, so_far);
  else
    contribute(
        c, input, gradient.shape(), [&](const Tensor& out) { current_backend().convert(gradient, out); },
        gradient.dtype());
}

/// Gives input `input` a gradient that is 0 outside of these rows.
inline void contribute_rows(BackwardContext& c, int input, const IndexedSlices& rows) {
  if (!c.needs(input)) return;
  if (c.takes_rows(input)) return c.set_rows(input, joined(c.rows(input), rows));
  if (c.contributed(input).defined() && c.owns_contributed(input)) return scatter_add(rows, c.contributed(input));
  contribute(
      c, input, rows.dense_shape,
      [&](const Tensor& out) {
        current_backend().fill(out, 0);
        scatter_add(rows, out);
      },
      rows.values.dtype());
}

}  // namespace lockstep
