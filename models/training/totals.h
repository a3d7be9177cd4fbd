#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <lockstep/models/losses/loss.h>
#include <lockstep/models/metrics/metric.h>
#include <lockstep/models/training/callback.h>
#include <lockstep/strategy/core/per_replica.h>

namespace lockstep {

/// Sums over examples of the loss and of each metric: exact means for batches and replicas of any size.
struct Totals {
  /// How many were added.
  std::int64_t examples = 0;
  /// Sum over the examples.
  double loss = 0;
  /// Sums over the examples, in the order of the metrics.
  std::vector<double> metrics{};

  /// Adds sums, counts and metrics; `other` may be empty.
  Totals& operator+=(const Totals& other);
  /// Adds a scalar that is part of the model's loss but no example's own, so that the mean has it once.
  void add_to_every_loss(const Tensor& penalty);
  /// The means by name, each with `prefix` before it; none when there are no examples.
  Logs means(const std::vector<Metric>& metrics_of_model, const std::string& prefix = "") const;
};

/// loss(y_true, y_pred), checked to be one value for each example. Throws InvalidArgument, also without targets.
Tensor losses_by_example(const Loss& loss, const Tensor& y_true, const Tensor& y_pred);

/// The totals of one batch, given the sum of its examples' losses. Records no gradient.
Totals batch_totals(const Tensor& loss_sum, const std::vector<Metric>& metrics, const Tensor& y_true,
                    const Tensor& y_pred);

}  // namespace lockstep
