#include "lockstep/kernels/recurrence/run_whole.h"

#include <lockstep/kernels/elementwise/elementwise_kernels.h>
#include <lockstep/kernels/op/gradient.h>
#include <lockstep/kernels/recurrence/whole_recurrence.h>

namespace lockstep::recurrence {
namespace {

using ForwardRecord = WholeRecurrence::ForwardRecord;

/// The last step of (n, time, units) as (n, 1, units).
Tensor last_step(const Tensor& y) { return y.slice_view(1, y.dim(1) - 1, y.dim(1)); }

Tensor result_of(const Tensor& y, bool return_sequences) {
  if (return_sequences) return y;
  const Tensor last = Tensor::empty({y.dim(0), y.dim(2)});
  launch(kernels::Convert{last_step(y), last.view({y.dim(0), 1, y.dim(2)})});
  return last;
}

/// The gradient of every step's h, from the gradient (n, time, units) of all steps or (n, units) of the last step.
Tensor gradient_of_steps(const Tensor& of_result, const Tensor& y) {
  const Tensor dense = make_dense(of_result);
  if (dense.rank() == 3) return dense;
  const Tensor dy = Tensor::empty(y.shape());
  launch(kernels::Fill{dy, 0});
  launch(kernels::Convert{dense.view({y.dim(0), 1, y.dim(2)}), last_step(dy)});
  return dy;
}

void contribute_gradients(BackwardContext& c, const ForwardRecord& forward) {
  const auto wanted = [&](int input, const Tensor& of) {
    return c.needs(input) ? Tensor::empty(of.shape()) : Tensor();
  };
  const RecurrentWeights d{wanted(1, forward.weights.kernel), wanted(2, forward.weights.recurrent_kernel),
                           wanted(3, forward.weights.bias)};
  const Tensor dy = gradient_of_steps(c.gradient(0), forward.y);
  const auto run = [&](const Tensor& dx) { whole_recurrence()->gradient(forward, dy, dx, d); };
  if (c.needs(0))  // the weights' gradients are computed together with that of x
    contribute(c, 0, forward.x.shape(), run);
  else
    run({});
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
  const Tensor y = Tensor::empty({layer.n, layer.time, layer.units});
  const Tensor kept = device->run(layer, x, weights, keep, y);
  const Tensor result = result_of(y, return_sequences);
  if (keep)
    record(op, inputs, result, [forward = ForwardRecord{layer, x, weights, y, kept}](BackwardContext& c) {
      contribute_gradients(c, forward);
    });
  return result;
}

}  // namespace lockstep::recurrence
