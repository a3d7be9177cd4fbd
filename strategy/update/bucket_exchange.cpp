#include "lockstep/strategy/update/bucket_exchange.h"

#include <algorithm>
#include <span>

#include <lockstep/strategy/comm/collective_names.h>

namespace lockstep {

void BucketExchange::add(int replica, const GpuPart& part, std::size_t range, std::size_t ranges) {
  const std::lock_guard lock(mutex_);
  while (ranges_.size() < ranges) ranges_.push_back({.collective = GpuCollective(gpus_)});
  collectives_.set_parts(ranges_[range].collective, replica, std::span(&part, 1));
  ++ranges_[range].replicas;
  ++added_[static_cast<std::size_t>(replica)];
  while (submitted_ < ranges && ranges_[submitted_].replicas == gpus_.size())
    collectives_.submit(gradients_name, ranges_[submitted_++].collective);
}

bool BucketExchange::has_begun(int replica) const {
  const std::lock_guard lock(mutex_);
  return added_[static_cast<std::size_t>(replica)] > 0;
}

bool BucketExchange::has_begun() const {
  const std::lock_guard lock(mutex_);
  return std::ranges::any_of(added_, [](std::size_t ranges) { return ranges > 0; });
}

void BucketExchange::join(int replica) {
  {
    const std::lock_guard lock(mutex_);
    std::size_t& own = added_[static_cast<std::size_t>(replica)];
    require<BrokenInvariant>(submitted_ == own, "{} of {} ranges of gradients were exchanged when they are used",
                             submitted_, own);
    own = 0;
    if (std::ranges::all_of(added_, [](std::size_t ranges) { return ranges == 0; })) {
      for (Range& range : ranges_) range.replicas = 0;
      submitted_ = 0;
    }
  }
  collectives_.join(replica);
}

void BucketExchange::abandon() {
  collectives_.abandon_step();
  const std::lock_guard lock(mutex_);
  for (Range& range : ranges_) range.replicas = 0;
  std::ranges::fill(added_, 0);
  submitted_ = 0;
}

}  // namespace lockstep
