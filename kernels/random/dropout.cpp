#include "lockstep/kernels/random/dropout.h"

#include <memory>

#include <lockstep/kernels/op/checks.h>
#include <lockstep/kernels/op/gradient.h>
#include <lockstep/kernels/op/transfer.h>
#include <lockstep/kernels/random/random_kernels.h>
#include <lockstep/kernels/random/random_key.h>
#include <lockstep/runtime/autograd/repeated_values.h>
#include <lockstep/runtime/device/gpu_capture.h>

namespace lockstep {

Tensor dropout(const Tensor& x, float rate, const RandomKey& key) {
  return dropout(x, rate, [key] { return key; });
}

Tensor dropout(const Tensor& operand, float rate, const std::function<RandomKey()>& next_key) try {
  require(rate >= 0 && rate < 1, "dropout takes a rate of at least 0 and less than 1, got {}", rate);
  require_real("dropout", operand);
  if (rate == 0) return operand;
  const Tensor here = to_current_device(operand);
  const Tensor x = make_dense(here);
  const Tensor y = Tensor::empty(x.shape(), x.dtype());
  const auto key = std::make_shared<RandomKey>();  // the key of the latest forward pass
  GpuCapture::each_time([=, next_key = repeated_function(next_key)] {
    *key = next_key();
    launch(kernels::Dropout{x, rate, *key, y});
  });
  if (recording({here})) {
    record("dropout", {here}, y, [rate, key](BackwardContext& c) {
      const Tensor dy = make_dense(c.gradient(0));
      const auto drop = [=](const Tensor& out) {
        GpuCapture::each_time([=] { launch(kernels::Dropout{dy, rate, *key, out}); });
      };
      const auto again = [rate, key](const Tensor& d) { return dropout(d, rate, [key] { return *key; }); };
      contribute_linear(c, 0, dy.shape(), drop, again, dy.dtype());
    });
  }
  return y;
} catch (Error& error) {
  rethrow_from("dropout", error);
}

}  // namespace lockstep
