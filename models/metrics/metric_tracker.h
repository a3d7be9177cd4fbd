#pragma once

#include <vector>

#include <lockstep/models/metrics/metric.h>
#include <lockstep/strategy/core/strategy.h>

namespace lockstep {

/// A metric with its state, for custom training loops, as in Keras. Not to be copied while replicas run.
class MetricTracker {
 public:
  /// For the replicas of the strategy whose scope is open, or of `strategy`.
  explicit MetricTracker(Metric metric, const Strategy& strategy = get_strategy());

  /// Adds a batch's sums: in a replica to its own, elsewhere to the common state. Throws as Metric::update, and
  /// LogicError in a replica of a strategy with more replicas.
  void update_state(const Tensor& y_true, const Tensor& y_pred, const Tensor& sample_weight = {});
  /// The value over all replicas of all workers, which must all call it. Not while replicas run: throws LogicError in
  /// one.
  double result() const;
  /// Resets all replicas to no examples. Throws LogicError in one.
  void reset_state();

 private:
  /// On a cache line of its own, since only that replica's thread reads and writes it.
  struct alignas(64) ReplicaSums {
    Metric::Sums sums{};
  };

  Metric metric_;
  Strategy strategy_;
  std::vector<ReplicaSums> replicas_;
};

}  // namespace lockstep
