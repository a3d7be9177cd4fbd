#include "lockstep/strategy/collective/nccl/bucket_exchange.h"

#include <lockstep/runtime/device/contracts.h>
#include <lockstep/strategy/collective/places.h>

namespace lockstep {

BucketExchange::BucketExchange(const std::vector<LogicalDevice>& gpus, GpuCommunicators& communicators)
    : communicators_(communicators) {
  for (const LogicalDevice& gpu : gpus) members_.push_back({.gpu = gpu, .summed = Event(gpu)});
}

void BucketExchange::add(int replica, const GpuPart& part, std::size_t range, std::size_t ranges) {
  const std::lock_guard lock(mutex_);
  if (!begun_) begin(ranges);
  Member& member = members_[static_cast<std::size_t>(replica)];
  member.parts[range] = part;
  member.final[range].record(Stream{member.gpu});
  ++came_[range];
  while (enqueued_ < ranges && came_[enqueued_] == members_.size()) enqueue(enqueued_++);
}

void BucketExchange::begin(std::size_t ranges) {
  for (Member& member : members_) {
    member.parts.resize(ranges);
    while (member.final.size() < ranges) member.final.emplace_back(member.gpu);
  }
  came_.assign(ranges, 0);
  enqueued_ = 0;
  joined_ = 0;
  begun_ = true;
}

void BucketExchange::enqueue(std::size_t range) {
  parts_.clear();
  for (const Member& member : members_) {
    const Stream communication{member.gpu, StreamKind::communication};
    communication.wait(member.final[range]);
    parts_.push_back(member.parts[range]);
    if constexpr (contracts::checked)
      check_part(gradients_place, communication, parts_.back(), static_cast<int>(members_.size()));
  }
  communicators_.enqueue_for_all(gradients_place, parts_);
  if (range + 1 == came_.size())
    for (Member& member : members_) member.summed.record({member.gpu, StreamKind::communication});
}

bool BucketExchange::begun() const {
  const std::lock_guard lock(mutex_);
  return begun_;
}

std::size_t BucketExchange::enqueued() const {
  const std::lock_guard lock(mutex_);
  return begun_ ? enqueued_ : 0;
}

bool BucketExchange::join(int replica) {
  const std::lock_guard lock(mutex_);
  if (!begun_) return false;
  require<BrokenInvariant>(enqueued_ == came_.size(), "{} of {} ranges of gradients were exchanged when they are used",
                           enqueued_, came_.size());
  const Member& member = members_[static_cast<std::size_t>(replica)];
  Stream{member.gpu}.wait(member.summed);
  if (++joined_ == members_.size()) begun_ = false;
  return true;
}

void BucketExchange::abandon() {
  const std::lock_guard lock(mutex_);
  begun_ = false;
}

}  // namespace lockstep
