#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <lockstep/models/metrics/compiled_output.h>
#include <lockstep/models/training/callback.h>
#include <lockstep/models/training/custom_steps.h>
#include <lockstep/runtime/data/dataset.h>

namespace lockstep {

/// Sums of the losses and of each metric over examples. Means computed from these sums are exact for batches and
/// replicas of any size.
struct Totals {
  /// Number of examples.
  std::int64_t examples = 0;
  double loss = 0;  ///< sum of the model's loss: the outputs' losses times their loss_weights, and penalties
  ///@{
  /// Sums by output. The loss of an output without a loss function is 0.
  std::vector<double> losses{};
  std::vector<std::vector<Metric::Sums>> metrics{};
  ///@}
  /// For totals of CustomSteps, the values' names. `metrics` then has one entry, with the sum and the weight of each
  /// value, and the losses are 0.
  std::optional<std::vector<std::string>> names{};

  /// Adds the sums and counts of `other`; both may be empty. Throws InvalidArgument if the names differ.
  Totals& operator+=(const Totals& other);
  /// The totals as numbers to send to other workers, with a hash of the names; empty for empty totals.
  std::vector<double> numbers() const;
  /// Returns the totals from the result of numbers(), with these names. Throws InvalidArgument if the hash in `numbers`
  /// does not match `names`.
  static Totals from_numbers(std::span<const double> numbers, const std::optional<std::vector<std::string>>& names);
  /// Adds a scalar part of the model's loss, such as a penalty, to the loss of every example, so that the mean loss
  /// contains it once.
  void add_to_every_loss(const Tensor& penalty);
  /// The loss divided by the number of examples. With names, the value "loss", or 0 if there is no such value. A NaN is
  /// returned without a sign, here and by `results`.
  double mean_loss() const;
  /// The mean losses and the metrics' results by name. With names, the values by name. Empty if there are no examples.
  Logs results(const std::vector<CompiledOutput>& outputs) const;
};

/// The totals of a custom step of a replica with `examples` rows; waits for the GPU that computes them. Throws
/// InvalidArgument for a value that is not a floating-point scalar, and for a name that is empty, begins with "val_" or
/// is one of fit's own names in the logs.
Totals custom_totals(const StepValues& values, std::int64_t examples);

/// The losses of a batch, on the device that computed them and recorded by open tapes.
struct BatchLosses {
  Tensor loss{};  ///< sum over the batch of the model's loss, a scalar; undefined if no output has a loss
  std::vector<Tensor> by_output{};  ///< by output, the sum of its loss, a scalar; undefined without a loss
};

/// The predictions of a network for a replica's part of a global batch.
struct Predictions {
  std::vector<Tensor> y_preds{};  ///< by output
  std::vector<Tensor> masks{};    ///< by output; see Network::run
  std::int64_t global_size = 0;   ///< examples of the global batch
};

/// Does nothing if no output has a loss or a metric. Throws InvalidArgument if the batch does not have one target for
/// each output, or if its number of tensors of sample weights is not 0, 1 or the number of outputs.
void check_targets(const Batch& batch, const std::vector<CompiledOutput>& compiled);
/// The losses of the model's outputs for a batch; each example's loss is multiplied by its sample weight. For an output
/// with a mask, the replicas' losses add up to global_size times the mean over the global batch's unmasked time steps,
/// as in Keras; all replicas must therefore call this function. A custom loss is called once with all time steps of
/// such an output, and returns one value for each of them. Throws the errors of check_targets. Throws InvalidArgument
/// if a loss does not return one value per example, or per time step of an output with a mask, and for sample weights
/// of a wrong shape.
BatchLosses batch_losses(const std::vector<CompiledOutput>& outputs, const Batch& batch,
                         const Predictions& predictions);
/// Logs a warning if a loss with the option from_logits = false gets predictions outside [0, 1] (by more than 1e-3),
/// which are probably logits, and if a loss with from_logits = true gets the result of a softmax or sigmoid.
void warn_of_wrong_from_logits(const std::vector<CompiledOutput>& outputs, const std::vector<Tensor>& y_preds);
/// The losses and the metrics of a batch as numbers; waits for the GPU that computes them. Records no gradient.
Totals batch_totals(const std::vector<CompiledOutput>& outputs, const Batch& batch, const Predictions& predictions,
                    const BatchLosses& losses);

}  // namespace lockstep
