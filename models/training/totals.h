#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <lockstep/models/losses/loss.h>
#include <lockstep/models/metrics/metric.h>
#include <lockstep/models/training/callback.h>
#include <lockstep/runtime/data/dataset.h>

namespace lockstep {

/// A metric of a compiled model.
struct CompiledMetric {
  /// As it was given to compile.
  Metric metric;
  bool weighted = false;  ///< examples count with their weights
};

/// Sums over examples of the loss and of each metric: exact means for batches and replicas of any size.
struct Totals {
  /// How many were added.
  std::int64_t examples = 0;
  double loss = 0;  ///< weighted
  /// In the order of the metrics.
  std::vector<Metric::Sums> metrics{};

  /// Adds sums, counts and metrics; `other` may be empty.
  Totals& operator+=(const Totals& other);
  /// Adds a scalar that is part of the model's loss but no example's own, so that the mean has it once.
  void add_to_every_loss(const Tensor& penalty);
  /// The loss over the number of examples and the metrics' results, by name; none when there are no examples.
  Logs results(const std::vector<CompiledMetric>& metrics_of_model) const;
};

/// The sum over the batch of loss(y_true, y_pred) * weight, a scalar; an undefined weight stands for ones. Throws
/// InvalidArgument when the loss does not give one value for each example, without targets, and for weights that do not
/// fit.
Tensor weighted_loss(const Loss& loss, const Batch& batch, const Tensor& y_pred);

/// The totals of one batch, given its weighted_loss. Records no gradient.
Totals batch_totals(const Tensor& loss_sum, const std::vector<CompiledMetric>& metrics, const Batch& batch,
                    const Tensor& y_pred);

}  // namespace lockstep
