#include "lockstep/models/compat/multi_gpu_model.h"

#include <algorithm>
#include <numeric>
#include <span>

#include <fmt/ranges.h>

#include <lockstep/models/compat/replica_graph.h>
#include <lockstep/models/compat/use_instead.h>
#include <lockstep/models/layers/recurrent_layer.h>
#include <lockstep/runtime/device/registry.h>
#include <lockstep/runtime/memory/device_memory.h>

namespace lockstep {
namespace {

std::vector<std::string> names_of_this_machine() {
  std::vector<std::string> names;
  for (const Device& device : physical_devices())
    names.push_back(fmt::format("{}:{}", name(device.kind), device.index));
  return names;
}

/// The GPUs' ids. Throws InvalidArgument for fewer than two GPUs.
std::vector<int> gpu_ids(const GpuSelection& gpus, const std::vector<std::string>& available) {
  if (gpus.ids()) {
    require(gpus.ids()->size() >= 2,
            "multi_gpu_model needs len(gpus) >= 2, got [{}]; one device needs no parallel model",
            fmt::join(*gpus.ids(), ", "));
    return *gpus.ids();
  }
  const auto visible =
      std::ranges::count_if(available, [](const std::string& name) { return name.starts_with("GPU:"); });
  const int count = gpus.count().value_or(static_cast<int>(visible));
  require(count >= 2, "multi_gpu_model needs gpus >= 2, got {}{}; this machine has [{}]", count,
          gpus.all() ? ", as many as there are" : "", fmt::join(available, ", "));
  std::vector<int> ids(static_cast<std::size_t>(count));
  std::iota(ids.begin(), ids.end(), 0);
  return ids;
}

std::vector<LogicalDevice> selected_gpus(const GpuSelection& gpus) {
  const std::vector<std::string> available = names_of_this_machine();
  const std::vector<int> ids = gpu_ids(gpus, available);
  std::vector<std::string> wanted{"CPU:0"};
  for (const int id : ids) wanted.push_back(fmt::format("GPU:{}", id));
  const bool all_there = std::ranges::all_of(
      wanted, [&](const std::string& name) { return std::ranges::find(available, name) != available.end(); });
  require(all_there,
          "multi_gpu_model with gpus={} expects the devices [{}], this machine has [{}]: try reducing gpus, or name "
          "logical CPUs in `devices`",
          ids.size(), fmt::join(wanted, ", "), fmt::join(available, ", "));
  std::vector<LogicalDevice> devices;
  for (const int id : ids) devices.push_back({.kind = DeviceKind::gpu, .index = id});
  return devices;
}

/// The devices with these names. A device may be named several times, as in Keras' list of GPUs.
std::vector<LogicalDevice> named_devices(const std::vector<std::string>& names) {
  require(names.size() >= 2, "multi_gpu_model needs len(devices) >= 2, got [{}]; one device needs no parallel model",
          fmt::join(names, ", "));
  std::vector<LogicalDevice> devices;
  for (const std::string& name : names) devices.push_back(parse_devices(std::span(&name, 1)).front());
  return devices;
}

std::vector<LogicalDevice> replica_devices(const MultiGpuOptions& options) {
  require(options.devices.empty() || options.gpus.all(), "multi_gpu_model takes gpus or devices, got both");
  const std::vector<LogicalDevice> devices =
      options.devices.empty() ? selected_gpus(options.gpus) : named_devices(options.devices);
  for (const LogicalDevice& device : devices) memory_resource(device);  // throws for devices that this build cannot use
  return devices;
}

LogicalDevice first_cpu() { return logical_cpus(1).front(); }

void move_weights_to(const LogicalDevice& device, const Model& model) {
  for (const Variable& variable : model.variables())
    if (variable.state().copies().front().device() != device)
      variable.state().move_copy(0, Tensor::empty(variable.shape(), variable.dtype(), device));
}

}  // namespace

ParallelModel::ParallelModel(const Model& model, const std::vector<LogicalDevice>& devices, const ReplicaGraph& graph)
    : Model(graph.inputs, graph.outputs, {.name = model.name() + "_parallel"}, model),
      template_(model),
      devices_(devices) {}

ParallelModel multi_gpu_model(const Model& model, const MultiGpuOptions& options) {
  use_instead("multi_gpu_model", "make the model in the scope of a MirroredStrategy");
  require<LogicError>(!has_strategy(),
                      "multi_gpu_model was called in a strategy's scope, whose models are parallel "
                      "already; call it outside");
  require<LogicError>(model.strategy().num_replicas_in_sync() == 1,
                      "the template of multi_gpu_model has {} replicas already: make it outside of strategies' scopes",
                      model.strategy().num_replicas_in_sync());
  for (const Layer& layer : model.network().layers())
    require<Unsupported>(
        !is_stateful(layer.impl()),
        "multi_gpu_model calls layer '{}' on several parts of a batch, but it is stateful and keeps the "
        "states of one: use a MirroredStrategy",
        layer.name());
  const std::vector<LogicalDevice> devices = replica_devices(options);
  if (options.cpu_relocation) move_weights_to(first_cpu(), model);
  const ReplicaPlan plan{.devices = devices,
                         .merge_device = options.cpu_merge ? first_cpu() : devices.front(),
                         .legacy_split = options.legacy_split};
  return {model, devices, replica_graph(model, plan)};
}

ParallelModel make_parallel(const Model& model, int gpu_count, const std::vector<std::string>& devices) {
  if (devices.empty()) return multi_gpu_model(model, {.gpus = gpu_count});
  require(static_cast<int>(devices.size()) == gpu_count, "make_parallel got gpu_count {} and {} devices", gpu_count,
          devices.size());
  return multi_gpu_model(model, {.devices = devices});
}

}  // namespace lockstep
