#pragma once

#include <vector>

#include <lockstep/models/metrics/metric.h>
#include <lockstep/strategy/core/strategy.h>

namespace lockstep {

/// A metric with its state, as in Keras, for custom training loops. Do not copy it while replicas run.
class MetricTracker {
 public:
  /// Makes a state for each of `strategy`'s replicas on this worker. By default, the strategy is that of the
  /// innermost open scope or the running replica or, without them, the default strategy, which has one replica.
  explicit MetricTracker(Metric metric, const Strategy& strategy = get_strategy());

  /// Adds a batch's sums to the sums of the calling replica; outside replicas to the sums of this worker's first
  /// replica. Throws the same errors as Metric::update, and LogicError in a replica whose index the tracker's strategy
  /// does not have.
  void update_state(const Tensor& y_true, const Tensor& y_pred, const Tensor& sample_weight = {});
  /// The value over all replicas of all workers, 0 before the first update; every worker must call it. Throws
  /// LogicError in a replica, and WorkerFailed or Timeout if another worker does not call it; do not call it while
  /// replicas run.
  double result() const;
  /// Resets the sums of all replicas of this worker. Throws LogicError in a replica.
  void reset_state();

 private:
  /// Aligned to a cache line to avoid false sharing, because each replica thread writes its own sums.
  struct alignas(64) ReplicaSums {
    Metric::Sums sums{};
  };

  Metric metric_;
  Strategy strategy_;
  std::vector<ReplicaSums> replicas_;
};

}  // namespace lockstep
