#include "lockstep/kernels/op/transfer.h"

#include <lockstep/kernels/elementwise/elementwise_kernels.h>
#include <lockstep/kernels/op/checks.h>
#include <lockstep/kernels/op/gradient.h>

namespace lockstep {

Tensor to_device(const Tensor& x, const LogicalDevice& device) try {
  require_defined("to_device", x);
  if (x.device() == device) return x;
  const Tensor y = Tensor::empty(x.shape(), x.dtype(), device);
  assign(x, y);
  if (recording({x})) {
    record("to_device", {x}, y, [source = x.device()](BackwardContext& c) {
      if (c.is_recorded()) return contribute_ops(c, 0, [&] { return to_device(c.gradient(0), source); });
      // Copies directly to the device of the gradient that it is added to, or of its destination.
      const Tensor to = c.contributed(0).defined() ? c.contributed(0) : c.destination(0);
      const ContextScope back(context_on(to.defined() ? to.device() : source));
      const Tensor& dy = c.gradient(0);
      contribute(
          c, 0, dy.shape(), [&](const Tensor& out) { assign(dy, out); }, dy.dtype());
    });
  }
  return y;
} catch (Error& error) {
  rethrow_from("to_device", error);
}

Tensor reachable_from(const LogicalDevice& device, const Tensor& x) {
  if (is_reachable(x, device)) return x;
  const Tensor y = Tensor::empty(x.shape(), x.dtype(), device);
  assign(x, y);
  return y;
}

void assign(const Tensor& x, const Tensor& y) try {
  require(x.defined() && y.defined() && x.shape() == y.shape(), "cannot assign {} to {}", x, y);
  const LogicalDevice& from = x.device();
  const LogicalDevice& to = y.device();
  if (is_reachable(x, to)) {
    const ContextScope there(context_on(to));
    return launch(kernels::Convert{x, y});
  }
  // Only dense memory is copied between devices: other tensors are packed before and unpacked after.
  const ContextScope source(context_on(from));
  const Tensor dense = make_dense(x);
  if (y.is_dense() && y.dtype() == x.dtype()) return copy(dense, y);
  const ContextScope destination(context_on(to));
  const Tensor arrived = Tensor::empty(x.shape(), x.dtype());
  copy(dense, arrived);
  launch(kernels::Convert{arrived, y});
} catch (Error& error) {
  rethrow_from("assign", error);
}

}  // namespace lockstep
