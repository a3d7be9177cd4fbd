#include "lockstep/strategy/input/share_measurement.h"

#include <algorithm>
#include <utility>

#include <lockstep/runtime/core/error.h>

namespace lockstep {

ShareMeasurement::ShareMeasurement(int replicas, std::int64_t steps)
    : steps_left_(steps), rows_(static_cast<std::size_t>(replicas)), busy_s_(static_cast<std::size_t>(replicas)) {
  require(steps >= 1, "batch shares are measured over at least 1 step, got {}", steps);
}

void ShareMeasurement::add_step(std::span<const std::int64_t> rows, std::span<const double> busy_s) {
  if (!shares_.empty() || !std::exchange(warm_, true)) return;
  const auto none = [](const auto& values) {
    return std::any_of(values.begin(), values.end(), [](auto value) { return value <= 0; });
  };
  if (none(rows) || none(busy_s)) return;
  for (std::size_t replica = 0; replica < rows_.size(); ++replica) {
    rows_[replica] += static_cast<double>(rows[replica]);
    busy_s_[replica] += busy_s[replica];
  }
  if (--steps_left_ > 0) return;
  for (std::size_t replica = 0; replica < rows_.size(); ++replica) shares_.push_back(rows_[replica] / busy_s_[replica]);
}

}  // namespace lockstep
