#include "lockstep/strategy/collective/collective.h"

#include <algorithm>
#include <set>

#include <fmt/ranges.h>

#include <lockstep/runtime/device/gpu_platform.h>
#include <lockstep/strategy/collective/hierarchical_copy/hierarchical_copy_collective.h>
#include <lockstep/strategy/collective/nccl/nccl_collective.h>
#include <lockstep/strategy/collective/reduction_to_one_device/reduction_to_one_device_collective.h>
#include <lockstep/strategy/collective/shared_memory/shared_memory_collective.h>
#include <lockstep/strategy/collective/workers/workers_collective.h>

namespace lockstep {
namespace {

bool is_gpu(const LogicalDevice& device) { return device.kind == DeviceKind::gpu; }

/// Throws Unsupported unless kernels of each GPU may read and write the memory of all others.
void check_reachable(const std::vector<LogicalDevice>& gpus, CrossDeviceOps ops) {
  const std::vector<Device> physical = gpu_platform().report().devices;
  for (const LogicalDevice& from : gpus)
    for (const LogicalDevice& to : gpus) {
      const int home = physical_gpu(from);
      const int other = physical_gpu(to);
      const std::vector<int>& peers = physical.at(static_cast<std::size_t>(home)).peers;
      const bool reachable = home == other || std::ranges::find(peers, other) != peers.end();
      require<Unsupported>(reachable,
                           "cross-device ops '{}' need GPUs that reach each other's memory, and {} does not reach {}: "
                           "use nccl, with one replica on each GPU",
                           name(ops), from.name(), to.name());
    }
}

/// What `automatic` stands for.
CrossDeviceOps chosen(CrossDeviceOps ops, const std::vector<LogicalDevice>& devices, bool turn_order) {
  if (ops != CrossDeviceOps::automatic) return ops;
  if (turn_order) return CrossDeviceOps::shared_memory;
  std::set<int> physical;
  if (devices.size() < 2 || !is_gpu(devices.front())) return CrossDeviceOps::shared_memory;
  for (const LogicalDevice& device : devices) physical.insert(physical_gpu(device));
  return physical.size() == devices.size() ? CrossDeviceOps::nccl : CrossDeviceOps::shared_memory;
}

}  // namespace

std::unique_ptr<Collective> make_collective(ReplicaGroup& group, const std::vector<LogicalDevice>& devices,
                                            const CollectiveOptions& options) {
  const bool on_gpus = is_gpu(devices.front());
  std::vector<std::string> names;
  for (const LogicalDevice& device : devices) names.push_back(device.name());
  require<Unsupported>(std::ranges::all_of(devices, [&](const auto& device) { return is_gpu(device) == on_gpus; }),
                       "replicas are either all on GPUs or all on CPUs, got [{}]", fmt::join(names, ", "));
  require(options.bytes_per_pack >= 0, "bytes_per_pack must be at least 0 (everything in one pack), got {}",
          options.bytes_per_pack);
  const CrossDeviceOps ops = chosen(options.cross_device_ops, devices, group.turn_order());
  const bool by_nccl = on_gpus && (options.cluster || ops == CrossDeviceOps::nccl);
  require<Unsupported>(options.wire_dtype == DType::f32 || (options.wire_dtype == DType::bf16 && by_nccl),
                       "gradients are exchanged as f32, or as bf16 by nccl between several GPUs that have a replica "
                       "each, not as {} between [{}]: leave wire_dtype f32",
                       name(options.wire_dtype), fmt::join(names, ", "));
  if (options.cluster && on_gpus) return make_nccl_collective(group, devices, options);
  if (options.cluster) return std::make_unique<WorkersCollective>(group, options.bytes_per_pack, *options.cluster);
  if (on_gpus && ops != CrossDeviceOps::nccl) check_reachable(devices, ops);
  switch (ops) {
    case CrossDeviceOps::automatic:
    case CrossDeviceOps::shared_memory:
      return std::make_unique<SharedMemoryCollective>(group, options.bytes_per_pack);
    case CrossDeviceOps::hierarchical_copy:
      return std::make_unique<HierarchicalCopyCollective>(group, options.bytes_per_pack);
    case CrossDeviceOps::reduction_to_one_device:
      return std::make_unique<ReductionToOneDeviceCollective>(group, options.bytes_per_pack);
    case CrossDeviceOps::nccl:
      require<Unsupported>(on_gpus,
                           "cross-device ops 'nccl' combine the values of GPU replicas; on CPUs use auto, "
                           "shared-memory, hierarchical-copy or reduction-to-one-device");
      require<Unsupported>(!group.turn_order(),
                           "replicas that take turns cannot combine their values with nccl, which all of them enter at "
                           "once: use shared-memory");
      return make_nccl_collective(group, devices, options);
  }
  fail<BrokenInvariant>("cross-device ops {} are none of the known ones", static_cast<int>(ops));
}

}  // namespace lockstep
