#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace lockstep {

/// Finds out the replicas' speeds over the first steps, and fixes their shares of a batch by them. For one thread.
class ShareMeasurement {
 public:
  /// Throws InvalidArgument unless steps >= 1.
  ShareMeasurement(int replicas, std::int64_t steps);

  /// A step: the rows that each replica had and the seconds it was busy with them. Not counted are the first one, which
  /// warms up, and those that leave a replica without rows.
  void add_step(std::span<const std::int64_t> rows, std::span<const double> busy_s);
  /// Rows per second of each replica; none before enough steps have been seen, and unchanged from then on.
  const std::vector<double>& shares() const { return shares_; }

 private:
  std::int64_t steps_left_;
  bool warm_ = false;
  std::vector<double> rows_;  ///< by replica, as busy_s_
  std::vector<double> busy_s_;
  std::vector<double> shares_;
};

}  // namespace lockstep
