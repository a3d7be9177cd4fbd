#include "replica_options.h"

#include <charconv>
#include <chrono>

#include <fmt/ranges.h>

#include <lockstep/runtime/device/registry.h>
#include <lockstep/strategy/mirrored/mirrored_strategy.h>
#include <lockstep/strategy/multi_worker/multi_worker_mirrored_strategy.h>

#include "interrupt.h"

namespace lockstep::cli {

CLI::Validator whole_number_from(std::int64_t lowest) {
  return CLI::Validator(
      [lowest](std::string& text) {
        std::int64_t value = 0;
        const char* const end = text.data() + text.size();
        const auto [stop, error] = std::from_chars(text.data(), end, value);
        if (error == std::errc() && stop == end && value >= lowest) return std::string();
        return fmt::format("must be a whole number of at least {}, got '{}'", lowest, text);
      },
      "N");
}

void DeviceOptions::add_to(CLI::App& command, const std::string& by_default) {
  auto* const count =
      command
          .add_option("--replicas", replicas,
                      fmt::format("logical GPUs, or, where there is no GPU, logical CPUs that share the cores "
                                  "(default: {})",
                                  by_default))
          ->check(whole_number_from(1));
  command.add_option("--devices", devices, "devices by name, e.g. GPU:0,GPU:1 or CPU:0,CPU:1")
      ->delimiter(',')
      ->excludes(count);
}

std::vector<LogicalDevice> DeviceOptions::chosen() const {
  if (!devices.empty()) return parse_devices(devices);
  return default_devices(replicas > 0 ? std::optional(replicas) : std::nullopt);
}

std::string device_text(const std::vector<LogicalDevice>& devices) {
  std::vector<std::string> names;
  for (const LogicalDevice& device : devices)
    names.push_back(fmt::format("{} ({} core{})", device.name(), device.cores, device.cores == 1 ? "" : "s"));
  return fmt::format("{}", fmt::join(names, ", "));
}

void ReplicaOptions::add_to(CLI::App& command) {
  devices.add_to(command, "every GPU, or 2; of each worker: its share of the GPUs, or 1 CPU");
  command
      .add_option("--strategy", strategy,
                  "mirrored (default): all replicas in this process; multi-worker: in all that mpirun has started")
      ->check(CLI::IsMember({"mirrored", multi_worker}));
  std::vector<std::string> ways;
  for (const CrossDeviceOps ops : all_cross_device_ops) ways.emplace_back(name(ops));
  command
      .add_option("--cross-device-ops", cross_device_ops,
                  fmt::format("how replicas combine their values: {} (default auto)", fmt::join(ways, ", ")))
      ->check(CLI::IsMember(ways));
  command.add_option("--timeout", timeout_s, "longest wait for a replica or a worker, in seconds (default 600)")
      ->check(whole_number_from(1));
}

Strategy ReplicaOptions::make_strategy() const {
  if (has_workers()) {
    require(parse_cross_device_ops(cross_device_ops) == CrossDeviceOps::automatic,
            "--cross-device-ops {} is for the replicas of one process; with --strategy multi-worker leave it out",
            cross_device_ops);
    return MultiWorkerMirroredStrategy(
        chosen_devices(), {.timeout = std::chrono::seconds(timeout_s), .asked_to_end = InterruptCallback::interrupted});
  }
  const MirroredOptions options{.timeout = std::chrono::seconds(timeout_s),
                                .cross_device_ops = parse_cross_device_ops(cross_device_ops)};
  return MirroredStrategy(chosen_devices(), options);
}

std::vector<LogicalDevice> ReplicaOptions::chosen_devices() const {
  if (!has_workers() || !devices.devices.empty()) return devices.chosen();
  return worker_devices(devices.replicas > 0 ? std::optional(devices.replicas) : std::nullopt);
}

}  // namespace lockstep::cli
