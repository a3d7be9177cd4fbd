#include "lockstep/kernels/recurrence/whole_recurrence.h"

#include <lockstep/kernels/gpu_stand_in.h>
#include <lockstep/runtime/device/context.h>
#if LOCKSTEP_HAVE_CUDA
#include <lockstep/kernels/recurrence/cudnn_recurrence.h>
#endif

namespace lockstep {

Tensor WholeRecurrence::run(const RecurrentLayer& layer, const Tensor& x, const RecurrentWeights& weights, bool keep,
                            const Tensor& y) {
  if (contracts::checked()) {
    const auto operands = kernels::operands(x, weights.kernel, weights.recurrent_kernel, weights.bias, y);
    kernels::check_operands("a recurrent layer", operands);
  }
  return forward(layer, x, weights, keep, y);
}

void WholeRecurrence::gradient(const ForwardRecord& record, const Tensor& dy, const Tensor& dx,
                               const RecurrentWeights& dweights) {
  if (contracts::checked()) {
    const RecurrentWeights& weights = record.weights;
    const auto operands =
        kernels::operands(record.x, weights.kernel, weights.recurrent_kernel, weights.bias, record.y, record.kept, dy,
                          dx, dweights.kernel, dweights.recurrent_kernel, dweights.bias);
    kernels::check_operands("a recurrent layer's gradient", operands);
  }
  backward(record, dy, dx, dweights);
}

WholeRecurrence* whole_recurrence() {
  if (current_context().device.kind == DeviceKind::cpu) return nullptr;
  if (kernels::GpuStandIn* const gpu = kernels::gpu_stand_in()) return gpu->whole_recurrence();
#if LOCKSTEP_HAVE_CUDA
  return &cudnn_recurrence();
#else
  return nullptr;
#endif
}

}  // namespace lockstep
