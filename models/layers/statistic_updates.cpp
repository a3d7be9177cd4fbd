#include "lockstep/models/layers/statistic_updates.h"

#include <utility>

#include <lockstep/kernels/normalization/batch_norm.h>
#include <lockstep/runtime/device/context.h>
#include <lockstep/runtime/device/gpu_capture.h>

namespace lockstep {
namespace {

thread_local StatisticUpdates* innermost = nullptr;

/// Updates the weight of the calling replica's copy, and adds the update of its value to `averages`.
void move_own_copy(const StatisticUpdate& update, std::vector<MovingAverage>& averages) {
  const auto& [statistic, of_rows, weight, momentum] = update;
  VariableState& state = statistic.state();
  const int copy = state.copies().size() == 1 ? 0 : current_context().replica;
  const double before = state.copy_weights()[copy];
  const double after = weight == before ? before : momentum * before + (1 - momentum) * weight;
  state.set_copy_weight(copy, after);
  const double kept = weight == before ? momentum : momentum * before / after;
  if (weight > 0) averages.push_back({state.copies()[copy], of_rows, static_cast<float>(kept)});
}

}  // namespace

StatisticUpdates::StatisticUpdates() : outer_(std::exchange(innermost, this)) {}

StatisticUpdates::~StatisticUpdates() { innermost = outer_; }

void StatisticUpdates::apply() {
  if (updates_.empty()) return;
  const auto move = [updates = std::exchange(updates_, {})] {
    std::vector<MovingAverage> averages;
    for (const StatisticUpdate& update : updates) move_own_copy(update, averages);
    update_moving_averages(averages);
  };
  if (current_context().replicas_in_sync > 1)
    GpuCapture::each_time(move);  // the replicas' weights change with their numbers of rows
  else
    move();
}

void StatisticUpdates::add(const StatisticUpdate& update) {
  if (innermost != nullptr) return innermost->updates_.push_back(update);
  StatisticUpdates alone;
  alone.updates_.push_back(update);
  alone.apply();
}

}  // namespace lockstep
