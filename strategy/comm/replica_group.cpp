#include "lockstep/strategy/comm/replica_group.h"

#include <algorithm>

namespace lockstep {
namespace {

/// Makes later work of `later` wait for the work that `earlier` has so far.
void order_after(const Stream& later, const Stream& earlier) {
  Event reached(earlier.gpu);
  reached.record(earlier);
  later.wait(reached);
}

}  // namespace

ReplicaGroup::ReplicaGroup(const std::vector<LogicalDevice>& devices, std::chrono::milliseconds timeout,
                           bool sequential, const std::vector<LogicalDevice>& parameter_devices)
    : ReplicaGroup(static_cast<int>(devices.size()), timeout, sequential) {
  const auto is_gpu = [](const LogicalDevice& device) { return device.kind == DeviceKind::gpu; };
  if (!std::ranges::all_of(devices, is_gpu)) return;
  for (const LogicalDevice& device : parameter_devices)
    if (is_gpu(device) && std::ranges::find(devices, device) == devices.end()) parameter_gpus_.push_back(device);
  if (devices.size() + parameter_gpus_.size() < 2) return;
  gpus_ = devices;
  for (int replica = 0; replica < size(); ++replica)
    for (std::optional<Event>& event : member(replica).events) event.emplace(stream_of(replica).gpu);
}

void ReplicaGroup::order_after_all(int replica, std::size_t barrier_number) {
  for (int other = 0; other < size(); ++other)
    if (other != replica) stream_of(replica).wait(event_of(other, barrier_number));
  for (const LogicalDevice& gpu : parameter_gpus_) {
    order_after(stream_of(replica), Stream{gpu});
    order_after(Stream{gpu}, stream_of(replica));
  }
}

}  // namespace lockstep
