#include <algorithm>

#include <lockstep/strategy/collective/collective.h>
#include <lockstep/strategy/collective/shared_memory/shared_memory_collective.h>

namespace lockstep {

std::unique_ptr<Collective> make_collective(ReplicaGroup& group, const std::vector<LogicalDevice>& devices) {
  const bool all_cpus = std::all_of(devices.begin(), devices.end(), [](auto& d) { return d.kind == DeviceKind::cpu; });
  require<Unsupported>(all_cpus, "this version combines the values of CPU replicas only");
  return std::make_unique<SharedMemoryCollective>(group);
}

}  // namespace lockstep
