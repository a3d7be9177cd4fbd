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

void contribute_gradients(BackwardContext& c, const ForwardRecord& forward) {
  const auto wanted = [&](int input, const Tensor& of) {
    return c.needs(input) ? Tensor::empty(of.shape()) : Tensor();
  };
  const RecurrentWeights d{wanted(1, forward.weights.kernel), wanted(2, forward.weights.recurrent_kernel),
                           wanted(3, forward.weights.bias)};
  const Tensor dy = gradient_of_steps(c.gradient(0), forward.y);
  const Tensor dx = wanted(0, forward.x);
  whole_recurrence()->gradient(forward, dy, dx, d);
  const RecurrentLayer& layer = forward.layer;
  contribute(c, 0, {layer.n, layer.time, layer.features}, [&](const Tensor& out) { write_rows_first(dx, out); });
  contribute(c, 1, forward.weights.kernel.shape(), [&](const Tensor& out) { copy(d.kernel, out); });
  contribute(c, 2, forward.weights.recurrent_kernel.shape(), [&](const Tensor& out) { copy(d.recurrent_kernel, out); });
  contribute(c, 3, forward.weights.bias.shape(), [&](const Tensor& out) { copy(d.bias, out); });
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
