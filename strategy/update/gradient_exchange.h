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

/// Sums gradients over the replicas of all workers on its own thread, during backward. Exchanges ranges in ascending
/// order, each once all replicas of this worker have reported it and its predecessors. The sums replace the first
/// replica's gradients.
class GradientExchange {
 public:
  /// For `replicas` replicas of this worker. `cluster` must outlive this.
  GradientExchange(int replicas, Cluster& cluster) : replicas_(replicas), cluster_(cluster) {}
  ~GradientExchange();
  GradientExchange(const GradientExchange&) = delete;
  GradientExchange& operator=(const GradientExchange&) = delete;

  /// Reports that a replica's gradients in ranges[range] are final. The first call in a step begins the step.
  /// gradients[r] are the gradients of this worker's replica r; `ranges` are all ranges of the step.
  void add(std::span<float* const> gradients, std::span<const FlatRange> ranges, std::size_t range);
  /// Whether a step has begun and has not been finished.
  bool begun() const;
  /// Waits for the sums of all ranges and ends the step. Throws the exchange's error, and LogicError if a replica of
  /// this worker has not reported all ranges. Precondition: begun(), and no replica calls add() any more.
  void finish();
  /// Sums the ranges over the workers on the calling thread, for a step in which add() was not called. `gradients` are
  /// the first replica's; they already contain the sums over this worker's replicas.
  void sum_over_workers(float* gradients, std::span<const FlatRange> ranges);

 private:
  /// A step's ranges and their progress.
  struct Step {
    std::vector<float*> gradients;  ///< by replica
    std::vector<FlatRange> ranges;
    std::vector<int> arrived;  ///< by range: number of replicas that have reported it
    std::size_t done = 0;      ///< number of ranges that are summed
  };

  void serve();
  bool has_range() const { return step_ && !error_ && step_->done < step_->ranges.size() && is_final(step_->done); }
  bool is_final(std::size_t range) const { return step_->arrived[range] == replicas_; }

  int replicas_;
  Cluster& cluster_;
  Tensor scratch_{};  ///< reused in each step

  mutable std::mutex mutex_;  ///< protects the following members
  std::condition_variable changed_;
  std::optional<Step> step_;
  std::exception_ptr error_;
  bool stopping_ = false;
  std::thread thread_{};  ///< started by the first call of add()
};

}  // namespace lockstep
