#pragma once

#include <vector>

#include <lockstep/models/metrics/metric.h>
#include <lockstep/strategy/core/strategy.h>

namespace lockstep {

/// A metric with its state, as in Keras, for custom training loops. Do not copy it while replicas run.
class MetricTracker {
 public:
  /// Makes a state for each of `strategy`'s replicas on this worker. The default is the strategy of the running replica
  /// or of the innermost open scope; if there is neither, it is the default strategy, which has one replica.
  explicit MetricTracker(Metric metric, const Strategy& strategy = get_strategy());

  /// Adds a batch's sums to the sums of the calling replica; outside replicas to the sums of this worker's first
  /// replica. Throws the same errors as Metric::update, and LogicError in a replica whose index the tracker's strategy
  /// does not have.
  void update_state(const Tensor& y_true, const Tensor& y_pred, const Tensor& sample_weight = {});
  /// The value over all replicas of all workers; 0 before the first update. Every worker must call this function, and
  /// not while replicas run. Throws LogicError in a replica. Throws WorkerFailed or Timeout if another worker does not
  /// call it.
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
