#pragma once

#include <vector>

#include <lockstep/runtime/tensor/tensor.h>
#include <lockstep/strategy/core/variable.h>

namespace lockstep {

/// An update of a moving statistic with the statistic of a batch.
struct StatisticUpdate {
  Variable statistic;  ///< has a copy for each replica
  Tensor of_rows;      ///< statistic of the calling replica's rows in the batch
  double weight;    ///< weight of `of_rows` in the mean over replicas; 1 if all replicas have the same number of rows
  double momentum;  ///< see BatchNormalizationOptions::momentum
};

/// While it exists, collects the calling thread's updates of moving statistics, so that a network can apply them in one
/// launch after its last layer. Collections nest. Updates that have not been applied are dropped at destruction.
class StatisticUpdates {
 public:
  StatisticUpdates();
  ~StatisticUpdates();
  StatisticUpdates(const StatisticUpdates&) = delete;
  StatisticUpdates& operator=(const StatisticUpdates&) = delete;

  /// Applies the collected updates to the calling replica's copies of the statistics, and removes them from the
  /// collection. The mean of all copies, weighted by VariableState::copy_weights, then equals the moving average of the
  /// global batches' statistics.
  void apply();
  /// Adds an update to the calling thread's innermost collection. Without a collection, applies the update at once.
  static void add(const StatisticUpdate& update);

 private:
  std::vector<StatisticUpdate> updates_{};
  StatisticUpdates* outer_;
};

}  // namespace lockstep
