#include "scaling_command.h"

#include <algorithm>
#include <cstdint>

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include <lockstep/runtime/core/logging.h>
#include <lockstep/runtime/device/registry.h>

#include "gnuplot.h"
#include "output_file.h"
#include "scaling_plot.h"
#include "wrapped_text.h"

namespace lockstep::cli {
namespace {

std::vector<LogicalDevice> chosen(const DeviceOptions& devices) {
  const std::vector<Device> physical = physical_devices();
  const bool has_gpu =
      std::any_of(physical.begin(), physical.end(), [](const Device& d) { return d.kind == DeviceKind::gpu; });
  if (has_gpu || devices.replicas > 0 || !devices.devices.empty()) return devices.chosen();
  return logical_cpus(std::min(available_cores(), max_logical_cpus));
}

/// Numbers of replicas to measure: every number if there are few devices, otherwise powers of two and all devices.
std::vector<int> replica_counts(int devices) {
  constexpr int few = 4;
  std::vector<int> counts;
  for (int count = 1; count < devices; count = count < few ? count + 1 : 2 * count) counts.push_back(count);
  counts.push_back(devices);
  return counts;
}

nlohmann::ordered_json rows_json(const std::vector<ScalingRow>& rows) {
  nlohmann::ordered_json result = nlohmann::ordered_json::array();
  for (const ScalingRow& row : rows)
    result.push_back(
        {{"method", name(row.method)},
         {"replicas", row.replicas},
         {"global_batch", row.global_batch},
         {"examples_per_s", row.examples_per_s},
         {"speedup",
          {{"median", row.speedup.median}, {"lowest", row.speedup.lowest}, {"highest", row.speedup.highest}}},
         {"ideal", row.ideal},
         {"efficiency", row.efficiency()}});
  return result;
}

nlohmann::ordered_json as_json(const ScalingOptions& options, const Scaling& scaling) {
  const ScalingPlan& plan = options.plan;
  return {{"model", options.model},
          {"precision", name(plan.dtype_policy.value_or(DTypePolicy::float32))},
          {"device", device_text(plan.devices)},
          {"rounds", plan.rounds},
          {"steps", plan.run.steps},
          {"weak", rows_json(scaling.weak)},
          {"strong", rows_json(scaling.strong)}};
}

void print_rows(const char* title, const std::vector<ScalingRow>& rows) {
  print_message("\n{:<23}{:>8}{:>7}{:>11}{:>9}{:>13}{:>9}\n", title, "replicas", "batch", "examples/s", "speed-up",
                "(min..max)", "of ideal");
  for (const ScalingRow& row : rows)
    print_message("{:<23}{:>8}{:>7}{:>11.1f}{:>9.2f}{:>13}{:>7.0f} %\n", name(row.method), row.replicas,
                  row.global_batch, row.examples_per_s, row.speedup.median,
                  fmt::format("{:.2f}..{:.2f}", row.speedup.lowest, row.speedup.highest), 100 * row.efficiency());
}

void print_for_people(const ScalingOptions& options, const Scaling& scaling) {
  const ScalingPlan& plan = options.plan;
  print_message("{}\n", wrapped(fmt::format("{} on {}; median of {} round(s) of {} steps", options.model,
                                            device_text(plan.devices), plan.rounds, plan.run.steps),
                                2));
  print_rows("weak scaling", scaling.weak);
  print_rows("strong scaling", scaling.strong);
  const bool cpus = plan.devices.front().kind == DeviceKind::cpu;
  if (cpus && std::find(plan.methods.begin(), plan.methods.end(), ScalingMethod::multi_gpu_model) != plan.methods.end())
    print_message("\nmulti-gpu-model runs its replicas from one thread: on CPUs one after the other.\n");
}

}  // namespace

int run(ScalingOptions options) {
  ScalingPlan& plan = options.plan;
  plan.kind = parse_model(options.model);
  plan.devices = chosen(options.devices);
  plan.replicas = replica_counts(static_cast<int>(plan.devices.size()));
  for (const std::string& method : options.methods) plan.methods.push_back(parse_scaling_method(method));
  if (plan.methods.empty()) plan.methods.assign(std::begin(all_scaling_methods), std::end(all_scaling_methods));
  require(plan.devices.size() > 1, "one device cannot scale; give --replicas 2 or more, or --devices");
  const std::int64_t most = INT64_MAX / static_cast<std::int64_t>(plan.devices.size());
  require(plan.batch_per_replica <= most, "--batch-per-replica {}: {} devices take at most {}", plan.batch_per_replica,
          plan.devices.size(), most);
  if (!options.plot.empty()) require_plot(options.plot);
  const bool terminal = isatty(STDERR_FILENO) != 0;
  const Scaling scaling = measure_scaling(plan, [&](const std::string& what) {
    if (terminal) print_message("\r\x1b[K{}", what);
  });
  if (terminal) print_message("\r\x1b[K");
  print_for_people(options, scaling);
  OutputWriter writer;
  if (options.json) writer.write([&] { fmt::print("{}\n", as_json(options, scaling).dump()); });
  const std::string title =
      fmt::format("{}, {} to {}", options.model, plan.devices.front().name(), plan.devices.back().name());
  if (!options.plot.empty()) writer.write([&] { plot_scaling(options.plot, title, scaling); });
  writer.finish();
  return 0;
}

}  // namespace lockstep::cli
