#pragma once

#include <lockstep/kernels/op/gradient.h>
#include <lockstep/kernels/op/layout.h>
#include <lockstep/kernels/op/rows_kernels.h>

namespace lockstep {

/// Gathers rows of x, a tensor of any dtype. `around` is the shape (outer, rows, inner), in which x is read as `outer`
/// matrices. Row i of each matrix of the result is row flat[i] of the same matrix of x. `flat` is i64 (n), on the
/// calling thread's device. The result (outer, n, inner) is returned in the shape `shape`. Tapes record it as `op`; the
/// gradient adds the contributions of equal indices in the order of the indices.
inline Tensor gathered_rows(const char* op, const Tensor& x, const Shape& around, const Tensor& flat,
                            const Shape& shape) {
  const Shape rows{around[0], flat.elements(), around[2]};
  const Tensor y = Tensor::empty(shape, x.dtype());
  launch(kernels::GatherRows{make_dense(x).view(around), flat, y.view(rows)});
  if (recording({x})) {
    record(op, {x}, y, [op, from = x.shape(), around, flat, rows, shape](BackwardContext& c) {
      const Tensor& dy = c.gradient(0);
      contribute_linear(
          c, 0, from,
          [&](const Tensor& out) {
            launch(kernels::Fill{out, 0});
            launch(kernels::ScatterRows{make_dense(dy).view(rows), flat, Write::add, out.view(around)});
          },
          [=](const Tensor& d) { return gathered_rows(op, d, around, flat, shape); }, dy.dtype());
    });
  }
  return y;
}

}  // namespace lockstep
