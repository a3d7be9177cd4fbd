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
  reduction_to_one_device,  ///< the same, with all gradients brought to one device and the sums back
  multi_gpu_model,          ///< multi_gpu_model: outputs concatenated on the CPU, one loss, one set of weights
};
inline constexpr ScalingMethod all_scaling_methods[] = {ScalingMethod::mirrored, ScalingMethod::reduction_to_one_device,
                                                        ScalingMethod::multi_gpu_model};
/// "multi-gpu-model".
std::string name(ScalingMethod method);
/// Throws InvalidArgument listing the known names.
ScalingMethod parse_scaling_method(const std::string& name);

struct ScalingPlan {
  ModelKind kind = ModelKind::mini_googlenet;
  std::vector<LogicalDevice> devices{};  ///< n replicas take the first n
  std::vector<int> replicas{};           ///< how many, in turn; the first is 1
  std::vector<ScalingMethod> methods{};
  std::optional<DTypePolicy> dtype_policy{};
  std::int64_t batch_per_replica = 64;  ///< of weak scaling; the global batch of strong scaling is that of all devices
  SpeedRun run{};                       ///< but for its batch
  int rounds = 3;                       ///< all is measured so often, in turn
};

/// What one replica does in the same round is 1.
struct SpeedUp {
  double median = 1;
  double lowest = 1;
  double highest = 1;
};

struct ScalingRow {
  ScalingMethod method = ScalingMethod::mirrored;
  int replicas = 1;
  std::int64_t global_batch = 0;
  double ideal = 1;           ///< the speed-up that the processors allow: replicas that share one add nothing
  double examples_per_s = 0;  ///< median of the rounds, each the median of its steps
  SpeedUp speedup{};
  double efficiency() const { return speedup.median / ideal; }
};

/// In the order of the methods, and of the numbers of replicas. One replica is MirroredStrategy's alone.
struct Scaling {
  std::vector<ScalingRow> weak;    ///< the batch grows with the replicas
  std::vector<ScalingRow> strong;  ///< the replicas share one batch
};

/// Measures the plan; `on_run` receives the name of each run before it starts. Throws Error when it is interrupted, and
/// when the replicas' loss before training is not that of one replica.
Scaling measure_scaling(const ScalingPlan& plan, const std::function<void(const std::string&)>& on_run);

}  // namespace lockstep::cli
