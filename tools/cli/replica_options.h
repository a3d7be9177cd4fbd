#pragma once

#include <functional>
#include <string>
#include <vector>

#include <lockstep/models/training/model.h>
#include <lockstep/strategy/core/strategy.h>

namespace lockstep::cli {

/// Which devices the replicas run on.
struct DeviceOptions {
  int replicas = 0;  ///< 0: not given
  std::vector<std::string> devices{};

  /// Those of this process. Throws as parse_devices and default_devices.
  std::vector<LogicalDevice> chosen() const;
};

/// "CPU:0 (1 core), CPU:1 (1 core)".
std::string device_text(const std::vector<LogicalDevice>& devices);

/// What train and bench have in common: which devices the replicas run on, and how.
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

  /// Whether there are other processes, started together with this one, that train with it.
  bool has_workers() const { return strategy == multi_worker; }
  bool is_multi_gpu_model() const { return strategy == multi_gpu; }
  /// How many replicas this process will have.
  int count() const { return static_cast<int>(devices_of_process().size()); }
  /// Enables op determinism if asked to. Throws InvalidArgument for devices that cannot be used and for options that do
  /// not go together, Unsupported for cross-device ops that the devices do not have. multi_gpu_model has the default
  /// strategy.
  Strategy make_strategy() const;
  /// How many replicas a step has, over all processes.
  int replicas_of(const Strategy& made) const;
  /// The model that `make` gives, over the replicas: made in the strategy's scope, or by multi_gpu_model.
  Model make_model(const Strategy& made, const std::function<Model()>& make) const;

 private:
  /// Throws as parse_devices and default_devices.
  std::vector<LogicalDevice> devices_of_process() const;
};

}  // namespace lockstep::cli
