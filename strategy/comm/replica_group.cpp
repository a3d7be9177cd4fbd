#include "lockstep/strategy/comm/replica_group.h"

#include <algorithm>

namespace lockstep {

ReplicaGroup::ReplicaGroup(const std::vector<LogicalDevice>& devices, std::chrono::milliseconds timeout,
                           bool sequential)
    : ReplicaGroup(static_cast<int>(devices.size()), timeout, sequential) {
  const auto is_gpu = [](const LogicalDevice& device) { return device.kind == DeviceKind::gpu; };
  if (devices.size() < 2 || !std::ranges::all_of(devices, is_gpu)) return;
  gpus_ = devices;
  for (int replica = 0; replica < size(); ++replica)
    for (std::optional<Event>& event : member(replica).events) event.emplace(stream_of(replica).gpu);
}

void ReplicaGroup::order_after_all(int replica, std::size_t barrier_number) {
  for (int other = 0; other < size(); ++other)
    if (other != replica) stream_of(replica).wait(event_of(other, barrier_number));
}

}  // namespace lockstep
