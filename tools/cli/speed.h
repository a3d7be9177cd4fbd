#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include <lockstep/models/training/model.h>

#include "run_record.h"
#include "workload.h"

namespace lockstep::cli {

/// Training on one batch of synthetic examples, which the first step moves to the replicas' devices, where it stays.
struct SpeedRun {
  std::int64_t global_batch = 64;
  std::int64_t warmup = 5;  ///< steps that are not measured
  std::int64_t steps = 30;
  std::uint64_t seed = 0;
  bool cuda_graphs = false;
};

/// The steps of a run.
struct MeasuredSteps {
  std::shared_ptr<RunRecord> record;
  std::span<const StepReport> measured;  ///< those of `record` after the warm-up

  std::vector<double> step_ms() const;
};

/// Trains a compiled model. Throws Error when it is interrupted before the first measured step.
MeasuredSteps train_at_speed(Model& model, ModelKind kind, const SpeedRun& run);

/// The value below which `share` of the values lie (nearest rank).
double quantile(std::vector<double> values, double share);

/// {"examples_per_s", "step_ms": {"median", "p10", "p90"}, "host_ms", "split_ms": {"input", "compute", "reduce",
/// "update"}}, all of the median step; host_ms as in StepReport.
nlohmann::ordered_json speed_json(const MeasuredSteps& steps, std::int64_t global_batch);

}  // namespace lockstep::cli
