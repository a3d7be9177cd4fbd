#include <lockstep/kernels/ops/gradient.h>
#include <lockstep/kernels/ops/transfer.h>

namespace lockstep {
namespace {

/// The calling thread's context, but on another device.
ExecutionContext on(const LogicalDevice& device) {
  ExecutionContext context = current_context();
  context.device = device;
  return context;
}

}  // namespace

Tensor to_device(const Tensor& x, const LogicalDevice& device) {
  require(x.defined(), "to_device takes a tensor, got an undefined one");
  if (x.device() == device) return x;
  const Tensor y = Tensor::empty(x.shape(), x.dtype(), device);
  current_backend().convert(x, y);
  if (recording({x})) {
    record("to_device", {x}, y, [source = x.device()](BackwardContext& c) {
      const ContextScope back(on(source));
      const Tensor& dy = c.gradient(0);
      contribute(
          c, 0, dy.shape(), [&](const Tensor& out) { current_backend().convert(dy, out); }, dy.dtype());
    });
  }
  return y;
}

}  // namespace lockstep
