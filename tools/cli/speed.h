#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include <lockstep/models/training/model.h>

#include "run_record.h"
#include "workload.h"

namespace lockstep::cli {

/// Training on one batch of synthetic examples. The first step copies the batch to the replicas' devices; all later
/// steps use this copy.
struct SpeedRun {
  std::int64_t global_batch = 64;
  std::int64_t warmup = 5;  ///< steps before the measured ones
  std::int64_t steps = 30;
  std::uint64_t seed = 0;
  bool cuda_graphs = false;
};

/// Steps of a run.
struct MeasuredSteps {
  std::shared_ptr<RunRecord> record;
  std::span<const StepReport> measured;  ///< the steps of `record` after the warm-up

  std::vector<double> step_ms() const;
};

/// Trains a compiled model. Throws Error when interrupted before the first measured step.
MeasuredSteps train_at_speed(Model& model, ModelKind kind, const SpeedRun& run);

/// The `share`-quantile of the values, e.g. 0.5 for the median: the sorted value whose index is nearest to share *
/// (number - 1). Precondition: there are values.
double quantile(std::vector<double> values, double share);

/// Returns {"examples_per_s", "step_ms": {"median", "p10", "p90"}, "host_ms", "split_ms": {"input", "compute",
/// "reduce", "update"}}. All numbers except the percentiles p10 and p90 are medians over the steps. For host_ms see
/// StepReport.
nlohmann::ordered_json speed_json(const MeasuredSteps& steps, std::int64_t global_batch);

}  // namespace lockstep::cli
