#include "lockstep/strategy/update/connections.h"

#include <algorithm>
#include <set>

#include <fmt/ranges.h>

#include <lockstep/runtime/device/gpu_platform.h>
#include <lockstep/strategy/comm/cluster/workers_communicator.h>
#include <lockstep/strategy/comm/local/hierarchical_copy_communicator.h>
#include <lockstep/strategy/comm/local/reduction_to_one_device_communicator.h>
#include <lockstep/strategy/comm/local/shared_memory_communicator.h>
#include <lockstep/strategy/comm/nccl/nccl_communicator.h>
#include <lockstep/strategy/update/hierarchical_copy_update.h>
#include <lockstep/strategy/update/nccl_update.h>
#include <lockstep/strategy/update/one_device_update.h>
#include <lockstep/strategy/update/shared_memory_update.h>
#include <lockstep/strategy/update/workers_update.h>

namespace lockstep {
namespace {

bool is_gpu(const LogicalDevice& device) { return device.kind == DeviceKind::gpu; }

/// Throws Unsupported, with `need` and `remedy`, unless kernels of each GPU can access the memory of all `others`.
void check_reachable(const std::vector<LogicalDevice>& gpus, const std::vector<LogicalDevice>& others,
                     const std::string& need, const char* remedy) {
  const std::vector<Device> physical = gpu_platform().report().devices;
  for (const LogicalDevice& from : gpus)
    for (const LogicalDevice& to : others) {
      const int home = physical_gpu(from);
      const int other = physical_gpu(to);
      const std::vector<int>& peers = physical.at(static_cast<std::size_t>(home)).peers;
      const bool reachable = home == other || std::ranges::find(peers, other) != peers.end();
      require<Unsupported>(reachable, "{}, and {} cannot access that of {}: {}", need, from.name(), to.name(), remedy);
    }
}

/// Replaces `automatic` by the algorithm for these devices.
CrossDeviceOps chosen(CrossDeviceOps ops, const std::vector<LogicalDevice>& devices, bool sequential) {
  if (ops != CrossDeviceOps::automatic) return ops;
  if (sequential) return CrossDeviceOps::shared_memory;
  std::set<int> physical;
  if (devices.size() < 2 || !is_gpu(devices.front())) return CrossDeviceOps::shared_memory;
  for (const LogicalDevice& device : devices) physical.insert(physical_gpu(device));
  return physical.size() == devices.size() ? CrossDeviceOps::nccl : CrossDeviceOps::shared_memory;
}

}  // namespace

Connections connect(ReplicaGroup& group, const std::vector<LogicalDevice>& devices, const CommunicationOptions& options,
                    std::shared_ptr<GpuCollectives> gpus) {
  const bool on_gpus = is_gpu(devices.front());
  std::vector<std::string> names;
  for (const LogicalDevice& device : devices) names.push_back(device.name());
  require<Unsupported>(std::ranges::all_of(devices, [&](const auto& device) { return is_gpu(device) == on_gpus; }),
                       "replicas are either all on GPUs or all on CPUs, got [{}]", fmt::join(names, ", "));
  require(options.bytes_per_pack >= 0, "bytes_per_pack must be at least 0 (everything in one pack), got {}",
          options.bytes_per_pack);
  const CrossDeviceOps ops = chosen(options.cross_device_ops, devices, group.sequential());
  const bool by_nccl = on_gpus && (options.cluster || ops == CrossDeviceOps::nccl);
  require<Unsupported>(options.wire_dtype == DType::f32 || (options.wire_dtype == DType::bf16 && by_nccl),
                       "gradients are exchanged as f32, or as bf16 by nccl between several GPUs that have a replica "
                       "each, not as {} between [{}]: leave wire_dtype f32",
                       name(options.wire_dtype), fmt::join(names, ", "));
  const std::int64_t pack = options.bytes_per_pack;
  Cluster* const cluster = options.cluster.get();
  if (by_nccl) {
    require<Unsupported>(
        cluster || !group.sequential(),
        "sequential replicas cannot use nccl, whose calls need all replicas at the same time: use shared-memory");
    if (!gpus) gpus = connect_gpus(devices, group.timeout(), cluster);
    return {std::make_unique<NcclCommunicator>(group, pack, devices, gpus, cluster),
            std::make_unique<NcclUpdate>(group, devices, gpus, cluster, options.wire_dtype), gpus};
  }
  if (cluster)
    return {std::make_unique<WorkersCommunicator>(group, pack, *cluster),
            std::make_unique<WorkersUpdate>(group, *cluster)};
  if (on_gpus) {
    check_reachable(devices, devices,
                    fmt::format("cross-device ops '{}' need GPUs that can access each other's memory", name(ops)),
                    "use nccl, with one replica on each GPU");
    check_reachable(devices, group.parameter_gpus(), "replicas update variables in their device's memory",
                    "choose another parameter_device");
  }
  switch (ops) {
    case CrossDeviceOps::automatic:
    case CrossDeviceOps::shared_memory:
      return {std::make_unique<SharedMemoryCommunicator>(group, pack), std::make_unique<SharedMemoryUpdate>(group)};
    case CrossDeviceOps::hierarchical_copy:
      return {std::make_unique<HierarchicalCopyCommunicator>(group, pack),
              std::make_unique<HierarchicalCopyUpdate>(group)};
    case CrossDeviceOps::reduction_to_one_device:
      return {std::make_unique<ReductionToOneDeviceCommunicator>(group, pack),
              std::make_unique<OneDeviceUpdate>(group)};
    case CrossDeviceOps::nccl:
      fail<Unsupported>(
          "cross-device ops 'nccl' combine the values of GPU replicas; on CPUs use auto, "
          "shared-memory, hierarchical-copy or reduction-to-one-device");
  }
  fail<BrokenInvariant>("unknown cross-device ops {}", static_cast<int>(ops));
}

}  // namespace lockstep
