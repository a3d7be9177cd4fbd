#pragma once

#include <vector>

#include <lockstep/runtime/tensor/tensor.h>
#include <lockstep/strategy/core/variable.h>

namespace lockstep {

/// An update of a moving statistic with the statistic of a batch.
struct StatisticUpdate {
  Variable statistic;  ///< has a copy for each replica
  Tensor of_rows;      ///< the statistic of the calling replica's rows
  double weight;       ///< weight of `of_rows` in the mean over replicas; 1 if all have the same number of rows
  double momentum;     ///< as BatchNormalizationOptions::momentum
};

/// Collects the updates of moving statistics by the calling thread's layers while it exists, so that a network does all
/// of them in one launch, after its last layer. Collections nest.
class StatisticUpdates {
 public:
  StatisticUpdates();
  ~StatisticUpdates();
  StatisticUpdates(const StatisticUpdates&) = delete;
  StatisticUpdates& operator=(const StatisticUpdates&) = delete;

  /// Updates the calling replica's copies of the statistics. The weighted mean of all copies then equals the moving
  /// average of the batches' weighted statistics.
  void apply();
  /// Adds an update to the calling thread's innermost collection. Without one, does the update.
  static void add(const StatisticUpdate& update);

 private:
  std::vector<StatisticUpdate> updates_{};
  StatisticUpdates* outer_;
};

}  // namespace lockstep
