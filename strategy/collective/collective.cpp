#include <algorithm>

#include <lockstep/strategy/collective/collective.h>
#include <lockstep/strategy/collective/hierarchical_copy/hierarchical_copy_collective.h>
#include <lockstep/strategy/collective/reduction_to_one_device/reduction_to_one_device_collective.h>
#include <lockstep/strategy/collective/shared_memory/shared_memory_collective.h>

namespace lockstep {

std::unique_ptr<Collective> make_collective(ReplicaGroup& group, const std::vector<LogicalDevice>& devices,
                                            const CollectiveOptions& options) {
  const bool all_cpus = std::all_of(devices.begin(), devices.end(), [](auto& d) { return d.kind == DeviceKind::cpu; });
  require<Unsupported>(all_cpus, "this version combines the values of CPU replicas only");
  require(options.bytes_per_pack >= 0, "bytes_per_pack must be at least 0 (everything in one pack), got {}",
          options.bytes_per_pack);
  switch (options.cross_device_ops) {
    case CrossDeviceOps::automatic:
    case CrossDeviceOps::shared_memory:
      return std::make_unique<SharedMemoryCollective>(group, options.bytes_per_pack);
    case CrossDeviceOps::hierarchical_copy:
      return std::make_unique<HierarchicalCopyCollective>(group, options.bytes_per_pack);
    case CrossDeviceOps::reduction_to_one_device:
      return std::make_unique<ReductionToOneDeviceCollective>(group, options.bytes_per_pack);
    case CrossDeviceOps::nccl:
      break;
  }
  fail<Unsupported>(
      "cross-device ops 'nccl' combine the values of GPU replicas, which this build cannot do; on CPUs "
      "use auto, shared-memory, hierarchical-copy or reduction-to-one-device");
}

}  // namespace lockstep
