#include "lockstep/kernels/recurrence/run_whole.h"

#include <lockstep/kernels/elementwise/elementwise_kernels.h>
#include <lockstep/kernels/op/gradient.h>
#include <lockstep/kernels/recurrence/recurrence.h>
#include <lockstep/kernels/recurrence/whole_recurrence.h>

namespace lockstep::recurrence {
namespace {

using ForwardRecord = WholeRecurrence::ForwardRecord;

/// The gradient (time, n, units) of every step's h, from the result's gradient (n, time, units), or (n, units) if the
/// result is the last step.
Tensor gradient_of_steps(const Tensor& of_result, const Tensor& y) {
  if (of_result.rank() == 3) return time_first(of_result);
  const Tensor dy = Tensor::empty(y.shape());
  launch(kernels::Fill{dy, 0});
  launch(kernels::Convert{of_result, step_of(dy, y.dim(0) - 1)});
  return dy;
}

/// Memory for the gradients of the weights that need one. The gradients of one tensor that is several weights cannot
/// share its destination.
RecurrentWeights memory_of_gradients(BackwardContext& c, const RecurrentWeights& weights) {
  const auto& [kernel, recurrent, bias] = weights;
  const bool distinct = kernel.id() != recurrent.id() && recurrent.id() != bias.id() && bias.id() != kernel.id();
  const auto memory = [&](int input, const Tensor& of) {
    if (!c.needs(input)) return Tensor();
    return distinct ? memory_for(c, input, of.shape()) : Tensor::empty(of.shape());
  };
  return {memory(1, kernel), memory(2, recurrent), memory(3, bias)};
}

void contribute_gradients(BackwardContext& c, const ForwardRecord& forward) {
  stop_recording_gradient(c);
  const RecurrentWeights d = memory_of_gradients(c, forward.weights);
  const Tensor dy = gradient_of_steps(c.gradient(0), forward.y);
  const Tensor dx = c.needs(0) ? Tensor::empty(forward.x.shape()) : Tensor();
  whole_recurrence()->gradient(forward, dy, dx, d);
  const RecurrentLayer& layer = forward.layer;
  contribute(c, 0, {layer.n, layer.time, layer.features}, [&](const Tensor& out) { write_rows_first(dx, out); });
  if (d.kernel.defined()) hand_over(c, 1, d.kernel);
  if (d.recurrent_kernel.defined()) hand_over(c, 2, d.recurrent_kernel);
  if (d.bias.defined()) hand_over(c, 3, d.bias);
}

}  // namespace

Tensor run_whole(const char* op, RecurrentCell cell, const Tensor& x, const RecurrentWeights& weights,
                 bool return_sequences) {
  WholeRecurrence* const device = whole_recurrence();
  const RecurrentLayer layer{cell, x.dim(0), x.dim(1), x.dim(2), weights.recurrent_kernel.dim(0)};
  if (device == nullptr || !device->runs(layer)) return {};
  const auto inputs = {x, weights.kernel, weights.recurrent_kernel, weights.bias};
  const bool keep = recording(inputs);
  const Tensor steps = time_first(x);
  const Tensor y = Tensor::empty({layer.time, layer.n, layer.units});
  const Tensor kept = device->run(layer, steps, weights, keep, y);
  const Tensor result = result_of(y, return_sequences);
  if (keep)
    record(op, inputs, result, [forward = ForwardRecord{layer, steps, weights, y, kept}](BackwardContext& c) {
      contribute_gradients(c, forward);
    });
  return result;
}

}  // namespace lockstep::recurrence
