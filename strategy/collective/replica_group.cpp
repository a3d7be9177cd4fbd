#include "lockstep/strategy/collective/replica_group.h"

#include <algorithm>

namespace lockstep {

ReplicaGroup::ReplicaGroup(const std::vector<LogicalDevice>& devices, std::chrono::milliseconds timeout,
                           bool turn_order)
    : ReplicaGroup(static_cast<int>(devices.size()), timeout, turn_order) {
  const auto is_gpu = [](const LogicalDevice& device) { return device.kind == DeviceKind::gpu; };
  if (devices.size() < 2 || !std::ranges::all_of(devices, is_gpu)) return;
  gpus_ = devices;
  for (int replica = 0; replica < size(); ++replica)
    for (std::unique_ptr<GpuMark>& mark : member(replica).marks)
      mark = make_mark(gpus_[static_cast<std::size_t>(replica)], GpuQueue::compute);
}

void ReplicaGroup::order_after_all(int replica, std::size_t meeting) {
  const LogicalDevice& own = gpus_[static_cast<std::size_t>(replica)];
  for (int other = 0; other < size(); ++other)
    if (other != replica) mark_of(other, meeting).order_before(own, GpuQueue::compute);
}

}  // namespace lockstep
