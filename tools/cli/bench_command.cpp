#include "bench_command.h"

#include <fstream>
#include <set>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <lockstep/runtime/core/logging.h>
#include <lockstep/runtime/device/gpu_platform.h>
#include <lockstep/runtime/device/registry.h>

#include "kernel_floor.h"
#include "speed.h"
#include "workload.h"

namespace lockstep::cli {
namespace {

/// {"gpus": model name of each physical GPU, "driver": driver version}; empty when no replica runs on a GPU.
nlohmann::ordered_json gpu_json(const std::vector<LogicalDevice>& replicas) {
  std::set<int> used;
  for (const LogicalDevice& device : replicas)
    if (device.kind == DeviceKind::gpu) used.insert(physical_gpu(device));
  if (used.empty()) return nlohmann::ordered_json::object();
  nlohmann::ordered_json models = nlohmann::ordered_json::array();
  for (const Device& device : physical_devices())
    if (device.kind == DeviceKind::gpu && used.contains(device.index)) models.push_back(device.model);
  std::string driver;
  std::ifstream("/sys/module/nvidia/version") >> driver;
  return {{"gpus", models}, {"driver", driver}};
}

nlohmann::ordered_json measure(const BenchOptions& options, Model& model, ModelKind kind, std::int64_t batch) {
  model.compile(make_usual_optimizer(kind), make_loss(kind));
  const MeasuredSteps steps = train_at_speed(model, kind,
                                             {.global_batch = batch,
                                              .warmup = options.warmup,
                                              .steps = options.steps,
                                              .seed = options.seed,
                                              .cuda_graphs = options.cuda_graphs});
  nlohmann::ordered_json result = {{"model", options.model},
                                   {"replicas", options.replicas.replicas_of(model.strategy())},
                                   {"global_batch", batch},
                                   {"precision", name(options.dtype_policy.value_or(DTypePolicy::float32))}};
  result.update(speed_json(steps, batch));
  result.update({{"params", model.count_params()},
                 {"peak_memory_mb", peak_memory_mb()},
                 {"time_to_first_step_s", steps.record->time_to_first_step_s()},
                 {"device", device_text(model.strategy().devices())},
                 {"loss_first", steps.record->steps().front().loss},
                 {"loss_last", steps.record->steps().back().loss}});
  result.update(gpu_json(model.strategy().devices()));
  return result;
}

void print_for_people(const nlohmann::ordered_json& result) {
  print_message("{} over {} replica(s), global batch {}, {}\n", result["model"].get<std::string>(),
                result["replicas"].get<int>(), result["global_batch"].get<std::int64_t>(),
                result["precision"].get<std::string>());
  print_message(
      "{:.1f} examples/s\nstep {:.1f} ms (p10 {:.1f}, p90 {:.1f}; host time {:.1f})\n"
      "convolutions and matrix products alone {:.1f} ms\n",
      result["examples_per_s"].get<double>(), result["step_ms"]["median"].get<double>(),
      result["step_ms"]["p10"].get<double>(), result["step_ms"]["p90"].get<double>(), result["host_ms"].get<double>(),
      result["kernel_floor_ms"].get<double>());
}

}  // namespace

int run(const BenchOptions& options) {
  const ModelKind kind = parse_model(options.model);
  const Strategy strategy = options.replicas.make_strategy();
  const int replicas = options.replicas.replicas_of(strategy);
  const std::int64_t batch = options.batch_size > 0 ? options.batch_size : std::int64_t{64} * replicas;
  require(batch >= replicas, "--batch-size: {} replicas need at least as many examples, got {}", replicas, batch);
  const ModelSettings settings{.seed = options.seed, .dtype_policy = options.dtype_policy};
  Model model = options.replicas.make_model(strategy, [&] { return make_model(kind, settings); });
  nlohmann::ordered_json result = measure(options, model, kind, batch);
  if (!strategy.is_chief()) return 0;
  result["kernel_floor_ms"] = kernel_floor_ms(model.network(), {batch / replicas, usual_form(kind).shape[0]});
  print_for_people(result);
  if (options.json) fmt::print("{}\n", result.dump());
  return 0;
}

}  // namespace lockstep::cli
