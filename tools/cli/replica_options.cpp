#include "replica_options.h"

#include <charconv>
#include <chrono>

#include <fmt/ranges.h>

#include <lockstep/models/compat/multi_gpu_model.h>
#include <lockstep/runtime/core/determinism.h>
#include <lockstep/runtime/device/registry.h>
#include <lockstep/strategy/central_storage/central_storage_strategy.h>
#include <lockstep/strategy/mirrored/mirrored_strategy.h>
#include <lockstep/strategy/multi_worker/multi_worker_mirrored_strategy.h>
#include <lockstep/strategy/one_device/one_device_strategy.h>

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
      .add_option(
          "--strategy", strategy,
          "mirrored (default): a copy of the weights for each replica; one-device; central-storage: one copy for "
          "all; multi-gpu-model: one copy, outputs concatenated on the CPU, for comparison; multi-worker: "
          "mirrored over all processes that mpirun has started")
      ->check(CLI::IsMember({mirrored, one_device, central_storage, multi_gpu, multi_worker}));
  std::vector<std::string> ways;
  for (const CrossDeviceOps ops : all_cross_device_ops) ways.emplace_back(name(ops));
  command
      .add_option("--cross-device-ops", cross_device_ops,
                  fmt::format("how replicas combine their values: {} (default auto)", fmt::join(ways, ", ")))
      ->check(CLI::IsMember(ways));
  command
      .add_option("--wire-dtype", wire_dtype,
                  "what gradients are exchanged as between GPUs: float32 (default), or bfloat16, half the bytes")
      ->check(CLI::IsMember({float32, bfloat16}));
  command.add_option("--timeout", timeout_s, "longest wait for a replica or a worker, in seconds (default 600)")
      ->check(whole_number_from(1));
  command.add_flag("--deterministic", deterministic,
                   "the same bits run after run, whatever libraries of GPUs would choose; on CPUs that is always so");
}

Strategy ReplicaOptions::make_strategy() const {
  if (deterministic) enable_op_determinism();
  const CrossDeviceOps ops = parse_cross_device_ops(cross_device_ops);
  require(strategy == mirrored || ops == CrossDeviceOps::automatic,
          "--cross-device-ops {} is for --strategy mirrored; with {} leave it out", cross_device_ops, strategy);
  const bool is_mirrored = strategy == mirrored || strategy == multi_worker;
  require(is_mirrored || wire_dtype == float32,
          "--wire-dtype {} is for --strategy mirrored and multi-worker; with {} leave it out", wire_dtype, strategy);
  const DType wire = wire_dtype == bfloat16 ? DType::bf16 : DType::f32;
  const std::vector<LogicalDevice> chosen = devices_of_process();
  const std::chrono::seconds timeout(timeout_s);
  if (strategy == multi_gpu) return get_strategy();
  if (strategy == one_device) {
    require(chosen.size() == 1, "--strategy one-device takes one device, got {}", chosen.size());
    return OneDeviceStrategy(chosen.front());
  }
  if (strategy == central_storage) return CentralStorageStrategy(chosen, {.timeout = timeout});
  if (strategy == multi_worker)
    return MultiWorkerMirroredStrategy(
        chosen, {.timeout = timeout, .asked_to_end = InterruptCallback::interrupted, .wire_dtype = wire});
  return MirroredStrategy(chosen, {.timeout = timeout, .cross_device_ops = ops, .wire_dtype = wire});
}

int ReplicaOptions::replicas_of(const Strategy& made) const {
  return strategy == multi_gpu ? count() : made.num_replicas_in_sync();
}

Model ReplicaOptions::make_model(const Strategy& made, const std::function<Model()>& make) const {
  if (strategy != multi_gpu) return made.scope(make);
  MultiGpuOptions options;
  for (const LogicalDevice& device : devices_of_process()) options.devices.push_back(device.name());
  return multi_gpu_model(make(), options);
}

std::vector<LogicalDevice> ReplicaOptions::devices_of_process() const {
  const bool none_given = devices.replicas == 0 && devices.devices.empty();
  if (strategy == one_device && none_given) return default_devices(1);
  if (!has_workers() || !devices.devices.empty()) return devices.chosen();
  return worker_devices(devices.replicas > 0 ? std::optional(devices.replicas) : std::nullopt);
}

}  // namespace lockstep::cli
