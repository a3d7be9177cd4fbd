#pragma once

#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include <lockstep/strategy/comm/cluster/cluster.h>
#include <lockstep/strategy/comm/flat_range.h>

namespace lockstep {

/// Sums the gradients of this worker's replicas, and those of all workers, on a thread of its own during backward:
/// range by range, each when all replicas have submitted it. The sums replace the first replica's gradients.
class GradientExchange {
 public:
  /// For the replicas of one worker; `cluster` outlives this.
  GradientExchange(int replicas, Cluster& cluster) : replicas_(replicas), cluster_(cluster) {}
  ~GradientExchange();
  GradientExchange(const GradientExchange&) = delete;
  GradientExchange& operator=(const GradientExchange&) = delete;

  /// A replica's part of a range is final. The first one of a step begins it: `gradients` and `ranges` are those of the
  /// whole step.
  void add(std::span<float* const> gradients, std::span<const FlatRange> ranges, std::size_t range);
  /// Whether a step has begun.
  bool begun() const;
  /// Waits for the sums of all ranges, and ends the step. Throws what the exchange threw.
  void finish();
  /// Sums the ranges now, on the calling thread, for a step that did not begin beside backward; D replicas' sums are in
  /// the first one's gradients already.
  void sum_over_workers(float* gradients, std::span<const FlatRange> ranges);

 private:
  /// What has come of a step.
  struct Step {
    std::vector<float*> gradients;  ///< by replica
    std::vector<FlatRange> ranges;
    std::vector<int> arrived;  ///< by range: replicas
    std::size_t done = 0;      ///< ranges
  };

  void serve();
  bool has_range() const { return step_ && !error_ && step_->done < step_->ranges.size() && is_final(step_->done); }
  bool is_final(std::size_t range) const { return step_->arrived[range] == replicas_; }

  int replicas_;
  Cluster& cluster_;
  Tensor scratch_{};  ///< kept from step to step

  mutable std::mutex mutex_;  ///< of the next ones
  std::condition_variable changed_;
  std::optional<Step> step_;
  std::exception_ptr error_;
  bool stopping_ = false;
  std::thread thread_{};  ///< from the first step on
};

}  // namespace lockstep
