#pragma once

#include <functional>
#include <string>
#include <vector>

#include <lockstep/models/training/model.h>
#include <lockstep/strategy/core/strategy.h>

namespace lockstep::cli {

/// The devices on which the replicas run.
struct DeviceOptions {
  int replicas = 0;                    ///< 0: not given
  std::vector<std::string> devices{};  ///< names; empty: not given

  /// The given devices, or default_devices(replicas). Throws like parse_devices and default_devices.
  std::vector<LogicalDevice> chosen() const;
};

/// E.g. "CPU:0 (1 core), CPU:1 (1 core)".
std::string device_text(const std::vector<LogicalDevice>& devices);

/// Calls `check` on the chief, the only worker that writes outputs. If it throws, the other workers throw WorkerFailed,
/// with its message. A collective.
void on_chief(const Strategy& strategy, const std::function<void()>& check);

/// Options that the commands with replicas share: devices, strategy, collectives.
struct ReplicaOptions {
  static constexpr const char* mirrored = "mirrored";
  static constexpr const char* one_device = "one-device";
  static constexpr const char* central_storage = "central-storage";
  static constexpr const char* multi_gpu = "multi-gpu-model";
  static constexpr const char* multi_worker = "multi-worker";
  static constexpr const char* float32 = "float32";
  static constexpr const char* bfloat16 = "bfloat16";

  DeviceOptions devices{};
  std::string strategy = mirrored;
  std::string cross_device_ops = "auto";
  std::string wire_dtype = float32;
  std::int64_t timeout_s = 600;
  bool deterministic = false;

  /// Whether training runs in several processes (workers) that were started together.
  bool has_workers() const { return strategy == multi_worker; }
  bool is_multi_gpu_model() const { return strategy == multi_gpu; }
  /// The number of replicas of this process.
  int count() const { return static_cast<int>(devices_of_process().size()); }
  /// The strategy that the options select; the default strategy for multi-gpu-model, because multi_gpu_model()
  /// distributes the model itself. Enables op determinism if requested. Throws InvalidArgument for devices that cannot
  /// be used and for options that contradict each other. Throws Unsupported for cross-device ops that the devices do
  /// not support.
  Strategy make_strategy() const;
  /// The number of replicas in all processes.
  int replicas_of(const Strategy& made) const;
  /// Distributes the model that `make` returns over the replicas: makes it in the strategy's scope, or passes it to
  /// multi_gpu_model.
  Model make_model(const Strategy& made, const std::function<Model()>& make) const;

 private:
  /// Throws like parse_devices and default_devices.
  std::vector<LogicalDevice> devices_of_process() const;
};

}  // namespace lockstep::cli
