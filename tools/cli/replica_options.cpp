#include "replica_options.h"

#include <algorithm>
#include <charconv>
#include <chrono>

#include <fmt/ranges.h>

#include <lockstep/models/compat/multi_gpu_model.h>
#include <lockstep/runtime/core/determinism.h>
#include <lockstep/runtime/device/registry.h>
#include <lockstep/runtime/thread/wait_timer.h>
#include <lockstep/strategy/comm/cluster/cluster.h>
#include <lockstep/strategy/strategies/central_storage_strategy.h>
#include <lockstep/strategy/strategies/mirrored_strategy.h>
#include <lockstep/strategy/strategies/multi_worker_mirrored_strategy.h>
#include <lockstep/strategy/strategies/one_device_strategy.h>

#include "interrupt.h"

namespace lockstep::cli {

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

void on_chief(const Strategy& strategy, const std::function<void()>& check) {
  Cluster* const workers = strategy.state()->cluster();
  if (strategy.is_chief()) notify_on_failure(workers, check);
  if (workers) workers->all_gather("the chief's check", "");
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
  const std::chrono::seconds timeout = std::min(std::chrono::seconds(timeout_s), longest_timeout);
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
