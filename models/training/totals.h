#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <lockstep/models/metrics/compiled_output.h>
#include <lockstep/models/training/callback.h>
#include <lockstep/runtime/data/dataset.h>

namespace lockstep {

/// Sums over examples of the losses and of each metric: exact means for batches and replicas of any size.
struct Totals {
  /// Number of examples.
  std::int64_t examples = 0;
  double loss = 0;  ///< the model's: of all outputs, with their loss_weights, and of penalties
  ///@{
  /// In the order of the outputs; of one without a loss 0.
  std::vector<double> losses{};
  std::vector<std::vector<Metric::Sums>> metrics{};
  ///@}

  /// Adds sums, counts and metrics; `other` may be empty.
  Totals& operator+=(const Totals& other);
  /// As numbers, for other workers; no numbers for empty totals.
  std::vector<double> numbers() const;
  /// From the result of numbers().
  static Totals from_numbers(std::span<const double> numbers);
  /// Adds a scalar of the model's loss that belongs to no example, so that the mean has it once.
  void add_to_every_loss(const Tensor& penalty);
  /// The loss over the number of examples; a NaN has no sign, here and in the results.
  double mean_loss() const;
  /// The losses over the number of examples and the metrics' results, by name; none when there are no examples.
  Logs results(const std::vector<CompiledOutput>& outputs) const;
};

/// The losses of a batch, on the device that computed them, recorded by open tapes.
struct BatchLosses {
  Tensor loss{};                    ///< the sum over the batch of the model's, a scalar
  std::vector<Tensor> by_output{};  ///< the sum of each output's, a scalar; undefined for one without a loss
};

/// The losses of the model's outputs for a batch, each example's times its sample weight. Throws InvalidArgument for
/// another number of targets than outputs, for a loss that does not give one value for each example, and for sample
/// weights that do not fit.
BatchLosses batch_losses(const std::vector<CompiledOutput>& outputs, const Batch& batch,
                         const std::vector<Tensor>& y_preds);
/// Warns of cross-entropies that take probabilities where the predictions lie outside 0 to 1, as logits do.
void warn_of_missing_from_logits(const std::vector<CompiledOutput>& outputs, const std::vector<Tensor>& y_preds);
/// Those losses and the metrics as numbers, for which a GPU's work is waited for. Records no gradient.
Totals batch_totals(const std::vector<CompiledOutput>& outputs, const Batch& batch, const std::vector<Tensor>& y_preds,
                    const BatchLosses& losses);

}  // namespace lockstep
