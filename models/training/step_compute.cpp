#include "lockstep/models/training/step_compute.h"

#include <utility>

#include <lockstep/kernels/array/elementwise.h>
#include <lockstep/models/layers/added_losses.h>
#include <lockstep/models/losses/average_loss.h>
#include <lockstep/runtime/trace/step_clock.h>

namespace lockstep {

Forward StepCompute::forward(const Batch& local, std::int64_t global_size) const {
  const PhaseTimer timer(Phase::compute);
  const AddedLosses added;
  Predictions predictions{.global_size = global_size};
  predictions.y_preds = network_.run(local.inputs, Mode::train, &predictions.masks);
  Forward forward{.losses = batch_losses(outputs_, local, predictions)};
  forward.predictions = std::move(predictions);
  forward.loss = forward.losses.loss / static_cast<double>(global_size);
  forward.penalty = network_.regularization_loss();
  if (forward.penalty.defined()) forward.loss = forward.loss + scale_regularization_loss(forward.penalty);
  if (const Tensor sum = added.sum(); sum.defined() && local.size() > 0) {
    forward.loss = forward.loss + sum * (static_cast<double>(local.size()) / static_cast<double>(global_size));
    forward.penalty = forward.penalty.defined() ? forward.penalty + sum : sum;
  }
  return forward;
}

Forward StepCompute::run(const Batch& local, std::int64_t global_size) const {
  GradientTape tape;
  Forward passed = forward(local, global_size);
  optimizer_.minimize(tape, passed.loss, trainable_);
  return passed;
}

}  // namespace lockstep
