#include "lockstep/models/training/step_compute.h"

#include <utility>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/reduction/reduction.h>
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
  const auto add = [](Tensor& sum, const Tensor& more) { sum = sum.defined() ? sum + more : more; };
  if (forward.losses.loss.defined()) forward.loss = forward.losses.loss / static_cast<double>(global_size);
  forward.penalty = network_.regularization_loss();
  if (forward.penalty.defined()) add(forward.loss, scale_regularization_loss(forward.penalty));
  const Tensor added_loss = added.sum();
  require(forward.loss.defined() || added_loss.defined(),
          "the model has no loss: give compile() one for an output, or the model a regularizer or a layer that calls "
          "add_loss, also on replicas without examples");
  if (const Tensor share = added.share(local.size(), global_size); share.defined()) {
    add(forward.loss, share);
    add(forward.penalty, added_loss);
  }
  if (!forward.loss.defined())  // no rows, and all losses are added ones: a loss of 0 that has gradients
    for (const Tensor& y_pred : forward.predictions.y_preds) add(forward.loss, sum(cast(y_pred, DType::f32)));
  return forward;
}

Forward StepCompute::run(const Batch& local, std::int64_t global_size) const {
  GradientTape tape;
  Forward passed = forward(local, global_size);
  optimizer_.minimize(tape, passed.loss, trainable_);
  return passed;
}

}  // namespace lockstep
