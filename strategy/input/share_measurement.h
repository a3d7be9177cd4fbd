#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace lockstep {

/// Measures the replicas' speeds over the first steps and then fixes their shares of a batch. Not thread-safe.
class ShareMeasurement {
 public:
  /// `steps`: number of steps to measure. Throws InvalidArgument unless steps >= 1.
  ShareMeasurement(int replicas, std::int64_t steps);

  /// Adds a step. Both arguments have one element per replica: its number of rows, and its busy time in seconds.
  /// Ignores the first step, as a warm-up, and steps in which a replica has no rows or no busy time.
  void add_step(std::span<const std::int64_t> rows, std::span<const double> busy_s);
  /// Rows per second of each replica; empty until all steps have been measured, fixed from then on.
  const std::vector<double>& shares() const { return shares_; }

 private:
  std::int64_t steps_left_;
  bool warm_ = false;
  std::vector<double> rows_;  ///< by replica, like busy_s_
  std::vector<double> busy_s_;
  std::vector<double> shares_;
};

}  // namespace lockstep
