#include "lockstep/models/losses/by_example.h"

#include <numeric>

#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/array/elementwise.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/runtime/autograd/tape.h>
#include <lockstep/strategy/core/replica_context.h>

namespace lockstep {

Tensor targets_like(const char* loss, const Tensor& y_true, const Tensor& y_pred) {
  require(y_true.defined() && y_true.rank() >= 1 && y_pred.rank() >= 1 && y_true.dim(0) == y_pred.dim(0) &&
              y_true.elements() == y_pred.elements(),
          "{} takes targets of the predictions' size, got {} for {}", loss, y_true, y_pred);
  const Tensor targets = y_true.dtype() == DType::f32 ? y_true : cast(y_true, DType::f32);
  return targets.shape() == y_pred.shape() ? targets : reshape(targets, y_pred.shape());
}

Tensor mean_by_example(const Tensor& x) {
  if (x.rank() == 1) return x;
  std::vector<int> axes(static_cast<std::size_t>(x.rank() - 1));
  std::iota(axes.begin(), axes.end(), 1);
  return mean(x, axes);
}

Tensor logits_of(const char* activation, const Tensor& y_pred) {
  const Tensor logits = y_pred.origin(activation);
  return logits.defined() && (recording({logits}) || !recording({y_pred})) ? as_f32(logits) : Tensor();
}

Tensor sum_over_replicas(const Tensor& x) {
  if (!current_context().in_replica()) return x;
  const NoGradientScope not_recorded;
  return get_replica_context().all_reduce(ReduceOp::sum, x);
}

Tensor smoothed(const Tensor& targets, double smoothing, double classes) {
  return smoothing == 0 ? targets : targets * (1 - smoothing) + smoothing / classes;
}

void check_smoothing(double label_smoothing) {
  require(label_smoothing >= 0 && label_smoothing <= 1, "label_smoothing lies in [0, 1], got {}", label_smoothing);
}

}  // namespace lockstep
