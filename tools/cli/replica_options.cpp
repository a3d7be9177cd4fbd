#include "replica_options.h"

#include <charconv>
#include <chrono>

#include <fmt/ranges.h>

#include <lockstep/runtime/device/registry.h>

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

void ReplicaOptions::add_to(CLI::App& command) {
  auto* const count =
      command
          .add_option(
              "--replicas", replicas,
              "logical GPUs, or, where there is no GPU, logical CPUs that share the cores (default: every GPU, or 2)")
          ->check(whole_number_from(1));
  command.add_option("--devices", devices, "devices by name, e.g. GPU:0,GPU:1 or CPU:0,CPU:1")
      ->delimiter(',')
      ->excludes(count);
  command.add_option("--strategy", strategy, "how replicas are kept together")->check(CLI::IsMember({"mirrored"}));
  std::vector<std::string> ways;
  for (const CrossDeviceOps ops : all_cross_device_ops) ways.emplace_back(name(ops));
  command
      .add_option("--cross-device-ops", cross_device_ops,
                  fmt::format("how replicas combine their values: {} (default auto)", fmt::join(ways, ", ")))
      ->check(CLI::IsMember(ways));
  command.add_option("--timeout", timeout_s, "longest wait for a replica, in seconds (default 600)")
      ->check(whole_number_from(1));
}

MirroredStrategy ReplicaOptions::make_strategy() const {
  const MirroredOptions options{.timeout = std::chrono::seconds(timeout_s),
                                .cross_device_ops = parse_cross_device_ops(cross_device_ops)};
  return MirroredStrategy(chosen_devices(), options);
}

std::vector<LogicalDevice> ReplicaOptions::chosen_devices() const {
  if (!devices.empty()) return parse_devices(devices);
  return default_devices(replicas > 0 ? std::optional(replicas) : std::nullopt);
}

}  // namespace lockstep::cli
