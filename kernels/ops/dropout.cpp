#include "lockstep/kernels/ops/dropout.h"

#include <lockstep/kernels/ops/checks.h>
#include <lockstep/kernels/ops/gradient.h>
#include <lockstep/kernels/ops/transfer.h>

namespace lockstep {

Tensor dropout(const Tensor& operand, float rate, const RandomKey& key) {
  require(rate >= 0 && rate < 1, "dropout takes a rate of at least 0 and less than 1, got {}", rate);
  require_real("dropout", operand);
  if (rate == 0) return operand;
  const Tensor x = to_current_device(operand);
  const Tensor y = Tensor::empty(x.shape(), x.dtype());
  current_backend().dropout(make_dense(x), rate, key, y);
  if (recording({x})) {
    record("dropout", {x}, y, [rate, key](BackwardContext& c) {
      const Tensor& dy = c.gradient(0);
      contribute(
          c, 0, dy.shape(), [&](const Tensor& out) { current_backend().dropout(make_dense(dy), rate, key, out); },
          dy.dtype());
    });
  }
  return y;
}

}  // namespace lockstep
