#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <lockstep/runtime/device/device.h>

#include "speed.h"
#include "workload.h"

namespace lockstep::cli {

/// Methods of training on several devices.
enum class ScalingMethod {
  mirrored,                 ///< MirroredStrategy
  reduction_to_one_device,  ///< MirroredStrategy with ReductionToOneDevice
  multi_gpu_model,          ///< multi_gpu_model: outputs concatenated on the CPU, one loss, one set of weights
};
inline constexpr ScalingMethod all_scaling_methods[] = {ScalingMethod::mirrored, ScalingMethod::reduction_to_one_device,
                                                        ScalingMethod::multi_gpu_model};
/// E.g. "multi-gpu-model".
std::string name(ScalingMethod method);
/// Throws InvalidArgument listing the known names.
ScalingMethod parse_scaling_method(const std::string& name);

struct ScalingPlan {
  ModelKind kind = ModelKind::mini_googlenet;
  std::vector<LogicalDevice> devices{};  ///< a run with n replicas uses the first n
  std::vector<int> replicas{};           ///< numbers of replicas to measure, in order; the first is 1
  std::vector<ScalingMethod> methods{};
  std::optional<DTypePolicy> dtype_policy{};
  std::int64_t batch_per_replica =
      64;          ///< in weak scaling; the global batch of strong scaling is this times the number of `devices`
  SpeedRun run{};  ///< its global_batch is ignored
  int rounds = 3;  ///< each round measures every method with each number of replicas once
};

/// Speed relative to one replica in the same round.
struct SpeedUp {
  double median = 1;
  double lowest = 1;
  double highest = 1;
};

struct ScalingRow {
  ScalingMethod method = ScalingMethod::mirrored;
  int replicas = 1;
  std::int64_t global_batch = 0;
  double ideal = 1;           ///< ideal speed-up: number of distinct GPUs, or of CPUs with cores of their own
  double examples_per_s = 0;  ///< median of the rounds, each the median of its steps
  SpeedUp speedup{};
  double efficiency() const { return speedup.median / ideal; }
};

/// Rows in the order of the methods and then of the replica counts. One replica is measured with MirroredStrategy only.
struct Scaling {
  std::vector<ScalingRow> weak;    ///< the global batch grows with the replicas
  std::vector<ScalingRow> strong;  ///< the replicas share one global batch
};

/// Measures the plan; calls `on_run` with the name of each run before it starts. Throws Error if the measurement is
/// interrupted or a loss after training is not finite. Also throws Error if runs with the same global batch start with
/// losses that differ by more than rounding errors.
Scaling measure_scaling(const ScalingPlan& plan, const std::function<void(const std::string&)>& on_run);

}  // namespace lockstep::cli
