#include "scaling.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include <fmt/ranges.h>

#include <lockstep/models/compat/multi_gpu_model.h>
#include <lockstep/runtime/device/gpu_platform.h>
#include <lockstep/runtime/device/registry.h>
#include <lockstep/strategy/strategies/mirrored_strategy.h>

#include "interrupt.h"
#include "nearest_name.h"

namespace lockstep::cli {
namespace {

/// A configuration to measure, and the speeds of its rounds.
using Run = std::tuple<ScalingMethod, int, std::int64_t>;  // replicas, global batch
using Speeds = std::map<Run, std::vector<double>>;

std::vector<LogicalDevice> first_devices(const ScalingPlan& plan, int replicas) {
  return {plan.devices.begin(), plan.devices.begin() + replicas};
}

double ideal_speedup(const std::vector<LogicalDevice>& devices) {
  if (devices.front().kind == DeviceKind::gpu) {
    std::set<int> physical;
    for (const LogicalDevice& device : devices) physical.insert(physical_gpu(device));
    return static_cast<double>(physical.size());
  }
  const int most = available_cores() / devices.front().cores;
  return std::clamp(static_cast<int>(devices.size()), 1, std::max(most, 1));
}

Model make_replicated(const ScalingPlan& plan, ScalingMethod method, int replicas) {
  const std::vector<LogicalDevice> devices = first_devices(plan, replicas);
  const ModelSettings settings{.seed = plan.run.seed, .dtype_policy = plan.dtype_policy};
  if (method == ScalingMethod::multi_gpu_model) {
    MultiGpuOptions options;
    for (const LogicalDevice& device : devices) options.devices.push_back(device.name());
    return multi_gpu_model(make_model(plan.kind, settings), options);
  }
  const auto ops =
      method == ScalingMethod::mirrored ? CrossDeviceOps::automatic : CrossDeviceOps::reduction_to_one_device;
  return MirroredStrategy(devices, {.cross_device_ops = ops}).scope([&] { return make_model(plan.kind, settings); });
}

/// The loss of the untrained model; if the replicas compute correctly, it is that of one replica.
double first_loss(const ScalingPlan& plan, Model& model, std::int64_t global_batch) {
  const Example examples = synthetic_examples(usual_form(plan.kind), global_batch, plan.run.seed);
  return model.evaluate(Dataset::from_tensors(examples).batch(global_batch), {.verbose = 0}).at("loss");
}

/// Measures runs and checks that their losses agree.
class Measurement {
 public:
  explicit Measurement(const ScalingPlan& plan) : plan_(plan) {}

  /// Measures the run once more.
  void measure(const Run& run) {
    const auto& [method, replicas, global_batch] = run;
    Model model = make_replicated(plan_, method, replicas);
    model.compile(make_usual_optimizer(plan_.kind), make_loss(plan_.kind));
    check(run, first_loss(plan_, model, global_batch));
    SpeedRun steps = plan_.run;
    steps.global_batch = global_batch;
    const MeasuredSteps measured = train_at_speed(model, plan_.kind, steps);
    require<Error>(!InterruptCallback::interrupted(), "interrupted before the measurements were complete");
    const double loss = measured.record->steps().back().loss;
    require<Error>(std::isfinite(loss), "{} with {} replicas: the loss is {} after {} steps", name(method), replicas,
                   loss, measured.record->steps().size());
    speeds_[run].push_back(1000.0 * static_cast<double>(global_batch) / quantile(measured.step_ms(), 0.5));
  }

  const std::vector<double>& of(const Run& run) const { return speeds_.at(run); }

 private:
  void check(const Run& run, double loss) {
    const auto& [method, replicas, global_batch] = run;
    const double expected = losses_.try_emplace(global_batch, loss).first->second;
    // Another batch size computes in another order; bf16 roundings then differ by 1 part in 256.
    const double tolerance = plan_.dtype_policy == DTypePolicy::mixed_bfloat16 ? 1e-2 : 1e-4;
    require<Error>(std::abs(loss - expected) <= tolerance * std::max(1.0, std::abs(expected)),
                   "{} with {} replicas gives the loss {} on {} examples where another run gives {}", name(method),
                   replicas, loss, global_batch, expected);
  }

  const ScalingPlan& plan_;
  Speeds speeds_;
  std::map<std::int64_t, double> losses_;  ///< keyed by global batch
};

std::int64_t batch_of(const ScalingPlan& plan, int replicas, bool weak) {
  return plan.batch_per_replica * (weak ? replicas : static_cast<int>(plan.devices.size()));
}

/// All runs of weak or of strong scaling.
std::vector<Run> runs_of(const ScalingPlan& plan, bool weak) {
  std::vector<Run> runs;
  for (const ScalingMethod method : plan.methods)
    for (const int replicas : plan.replicas)
      if (replicas > 1 || method == plan.methods.front())
        runs.emplace_back(replicas > 1 ? method : ScalingMethod::mirrored, replicas, batch_of(plan, replicas, weak));
  return runs;
}

SpeedUp speedup_of(const std::vector<double>& speeds, const std::vector<double>& of_one) {
  std::vector<double> ratios;
  for (std::size_t round = 0; round < speeds.size(); ++round) ratios.push_back(speeds[round] / of_one[round]);
  return {quantile(ratios, 0.5), quantile(ratios, 0), quantile(ratios, 1)};
}

std::vector<ScalingRow> rows_of(const ScalingPlan& plan, const Measurement& measurement, bool weak) {
  const std::vector<double>& of_one = measurement.of({ScalingMethod::mirrored, 1, batch_of(plan, 1, weak)});
  std::vector<ScalingRow> rows;
  for (const Run& run : runs_of(plan, weak)) {
    const auto& [method, replicas, global_batch] = run;
    const std::vector<double>& speeds = measurement.of(run);
    rows.push_back({.method = method,
                    .replicas = replicas,
                    .global_batch = global_batch,
                    .ideal = ideal_speedup(first_devices(plan, replicas)),
                    .examples_per_s = quantile(speeds, 0.5),
                    .speedup = speedup_of(speeds, of_one)});
  }
  return rows;
}

}  // namespace

std::string name(ScalingMethod method) {
  switch (method) {
    case ScalingMethod::mirrored:
      return "mirrored";
    case ScalingMethod::reduction_to_one_device:
      return "reduction-to-one-device";
    case ScalingMethod::multi_gpu_model:
      return "multi-gpu-model";
  }
  fail<LogicError>("no such method: {}", static_cast<int>(method));
}

ScalingMethod parse_scaling_method(const std::string& text) {
  std::vector<std::string> names;
  for (const ScalingMethod method : all_scaling_methods) {
    names.push_back(name(method));
    if (names.back() == text) return method;
  }
  fail<InvalidArgument>("'{}' is not a method; choose from {}{}", text, fmt::join(names, ", "),
                        suggestion(text, names));
}

Scaling measure_scaling(const ScalingPlan& plan, const std::function<void(const std::string&)>& on_run) {
  // A run of weak scaling may be one of strong scaling, too.
  std::set<Run> runs;
  for (const bool weak : {true, false})
    for (const Run& run : runs_of(plan, weak)) runs.insert(run);
  Measurement measurement(plan);
  for (int round = 0; round < plan.rounds; ++round) {
    for (const Run& run : runs) {
      const auto& [method, replicas, global_batch] = run;
      on_run(fmt::format("round {} of {}: {} over {} replica{}, global batch {}", round + 1, plan.rounds, name(method),
                         replicas, replicas == 1 ? "" : "s", global_batch));
      measurement.measure(run);
    }
  }
  return {rows_of(plan, measurement, true), rows_of(plan, measurement, false)};
}

}  // namespace lockstep::cli
