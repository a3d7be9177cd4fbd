#include "lockstep/models/metrics/metric_tracker.h"

#include <algorithm>

#include <lockstep/strategy/comm/cluster/over_workers.h>

namespace lockstep {
namespace {

void check_outside_replicas(const Metric& metric, const char* what) {
  require<LogicError>(!current_context().in_replica(),
                      "{} of '{}' was called inside a replica; call it outside run(), for all replicas", what,
                      metric.name());
}

}  // namespace

MetricTracker::MetricTracker(Metric metric, const Strategy& strategy)
    : metric_(std::move(metric)),
      strategy_(strategy),
      replicas_(static_cast<std::size_t>(strategy.num_local_replicas())) {}

void MetricTracker::update_state(const Tensor& y_true, const Tensor& y_pred, const Tensor& sample_weight) {
  const auto replica = static_cast<std::size_t>(std::max(0, current_context().replica));
  require<LogicError>(replica < replicas_.size(), "'{}' was made for {} replica(s), this is replica {}", metric_.name(),
                      replicas_.size(), replica);
  add_sums(replicas_[replica].sums, metric_.update(y_true, y_pred, sample_weight));
}

double MetricTracker::result() const {
  check_outside_replicas(metric_, "result()");
  Metric::Sums sums;
  for (const ReplicaSums& replica : replicas_) add_sums(sums, replica.sums);
  if (Cluster* const workers = strategy_.state()->cluster()) {
    const Metric::Sums own = std::exchange(sums, {});
    for (const Metric::Sums& other : gather_numbers(*workers, "the value of '" + metric_.name() + "'", own))
      add_sums(sums, other);
  }
  return metric_.result(sums);
}

void MetricTracker::reset_state() {
  check_outside_replicas(metric_, "reset_state()");
  for (ReplicaSums& replica : replicas_) replica.sums.clear();
}

}  // namespace lockstep
