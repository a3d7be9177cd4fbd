#include "scaling_command.h"

#include <algorithm>

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include <lockstep/runtime/device/registry.h>

#include "gnuplot.h"
#include "scaling_plot.h"

namespace lockstep::cli {
namespace {

std::vector<LogicalDevice> chosen(const DeviceOptions& devices) {
  const std::vector<Device> physical = physical_devices();
  const bool has_gpu =
      std::any_of(physical.begin(), physical.end(), [](const Device& d) { return d.kind == DeviceKind::gpu; });
  if (has_gpu || devices.replicas > 0 || !devices.devices.empty()) return devices.chosen();
  return logical_cpus(std::min(available_cores(), max_logical_cpus));
}

/// Every number of replicas while they are few, then powers of two, and all.
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
        {{"way", name(row.way)},
         {"replicas", row.replicas},
         {"global_batch", row.global_batch},
         {"examples_per_s", row.examples_per_s},
         {"speedup",
          {{"median", row.speedup.median}, {"lowest", row.speedup.lowest}, {"highest", row.speedup.highest}}},
         {"ideal", row.ideal},
         {"efficiency", row.efficiency()}});
  return result;
}

void print_rows(const char* title, const std::vector<ScalingRow>& rows) {
  fmt::print(stderr, "\n{:<26}{:>8}{:>14}{:>13}{:>10}{:>16}{:>7}{:>12}\n", title, "replicas", "global batch",
             "examples/s", "speed-up", "(of rounds)", "ideal", "efficiency");
  for (const ScalingRow& row : rows)
    fmt::print(stderr, "{:<26}{:>8}{:>14}{:>13.1f}{:>10.2f}{:>16}{:>7.0f}{:>10.0f} %\n", name(row.way), row.replicas,
               row.global_batch, row.examples_per_s, row.speedup.median,
               fmt::format("{:.2f}..{:.2f}", row.speedup.lowest, row.speedup.highest), row.ideal,
               100 * row.efficiency());
}

void print_for_people(const ScalingOptions& options, const Scaling& scaling) {
  const ScalingPlan& plan = options.plan;
  fmt::print(stderr, "{} on {}; median of {} round(s) of {} steps\n", options.model, device_text(plan.devices),
             plan.rounds, plan.run.steps);
  print_rows("weak scaling", scaling.weak);
  print_rows("strong scaling", scaling.strong);
  const bool cpus = plan.devices.front().kind == DeviceKind::cpu;
  if (cpus && std::find(plan.ways.begin(), plan.ways.end(), Way::multi_gpu_model) != plan.ways.end())
    fmt::print(stderr, "\nmulti-gpu-model runs its replicas from one thread: on CPUs one after the other.\n");
}

}  // namespace

int run(ScalingOptions options) {
  ScalingPlan& plan = options.plan;
  plan.kind = parse_model(options.model);
  plan.devices = chosen(options.devices);
  plan.replicas = replica_counts(static_cast<int>(plan.devices.size()));
  for (const std::string& way : options.ways) plan.ways.push_back(parse_way(way));
  if (plan.ways.empty()) plan.ways.assign(std::begin(all_ways), std::end(all_ways));
  require(plan.devices.size() > 1, "one device cannot scale; give --replicas 2 or more, or --devices");
  if (!options.plot.empty()) require_plot(options.plot);
  const bool terminal = isatty(STDERR_FILENO) != 0;
  const Scaling scaling = measure_scaling(plan, [&](const std::string& what) {
    if (terminal) fmt::print(stderr, "\r\x1b[K{}", what);
  });
  if (terminal) fmt::print(stderr, "\r\x1b[K");
  print_for_people(options, scaling);
  if (!options.plot.empty())
    plot_scaling(options.plot,
                 fmt::format("{}, {} to {}", options.model, plan.devices.front().name(), plan.devices.back().name()),
                 scaling);
  if (options.json)
    fmt::print("{}\n", nlohmann::ordered_json({{"model", options.model},
                                               {"precision", name(plan.dtype_policy.value_or(DTypePolicy::float32))},
                                               {"device", device_text(plan.devices)},
                                               {"rounds", plan.rounds},
                                               {"steps", plan.run.steps},
                                               {"weak", rows_json(scaling.weak)},
                                               {"strong", rows_json(scaling.strong)}})
                           .dump());
  return 0;
}

}  // namespace lockstep::cli
