#include "lockstep/kernels/scan/scan.h"

#include <lockstep/kernels/op/checks.h>
#include <lockstep/kernels/op/gradient.h>
#include <lockstep/kernels/op/transfer.h>
#include <lockstep/kernels/reduction/axis_groups.h>
#include <lockstep/kernels/scan/scan_kernels.h>

namespace lockstep {

Tensor cumsum(const Tensor& operand, int axis, const CumsumOptions& options) try {
  require_real("cumsum", operand);
  const Tensor x = to_current_device(operand);
  const Shape around = around_axis(x.shape(), x.shape().normalize_axis(axis));
  const Tensor y = Tensor::empty(x.shape(), x.dtype());
  launch(kernels::CumulativeSum{make_dense(x).view(around), options.exclusive, options.reverse, y.view(around)});
  if (recording({x})) {
    record("cumsum", {x}, y, [options, around, shape = x.shape(), dtype = x.dtype()](BackwardContext& c) {
      contribute(
          c, 0, shape,
          [&](const Tensor& out) {
            const Tensor dy = make_dense(c.gradient(0)).view(around);
            launch(kernels::CumulativeSum{dy, options.exclusive, !options.reverse, out.view(around)});
          },
          dtype);
    });
  }
  return y;
} catch (Error& error) {
  rethrow_from("cumsum", error);
}

}  // namespace lockstep
