#include "lockstep/strategy/update/hierarchical_copy_update.h"

#include <algorithm>
#include <vector>

#include <lockstep/runtime/trace/step_clock.h>
#include <lockstep/strategy/comm/local/hierarchical_copy_communicator.h>
#include <lockstep/strategy/comm/places.h>

namespace lockstep {

void HierarchicalCopyUpdate::reduce_and_update(int replica, const FlatViews& views, std::span<const FlatRange> ranges,
                                               const UpdateFn& update) {
  {
    const PhaseTimer timer(Phase::reduce);
    add_up_halves(replica, views, ranges);
  }
  {
    const PhaseTimer timer(Phase::update);
    std::vector<float*> sums;
    for (int half = 0; half < halves_of(group_.size()); ++half) sums.push_back(sums_[half].data<float>());
    for (const FlatRange& range : ranges)
      update_range(update, {sums, views.parameters, views.state}, shard_of(range, replica, group_.size()));
  }
  const PhaseTimer timer(Phase::reduce);
  group_.meet(replica, update_end);
}

void HierarchicalCopyUpdate::add_up_halves(int replica, const FlatViews& views, std::span<const FlatRange> ranges) {
  const HalfOfReplicas half = half_of(replica, group_.size());
  Tensor& sums = sums_[half.number];
  std::int64_t end = 0;
  for (const FlatRange& range : ranges) end = std::max(end, range.end);
  if (replica == half.begin && (!sums.defined() || sums.elements() < end)) sums = Tensor::empty({end});
  group_.meet(replica, gradients_place);
  const auto gradients = views.gradients.subspan(half.begin, half.size);
  for (const FlatRange& range : ranges)
    add_up_range(gradients, sums.data<float>(), shard_of(range, replica - half.begin, half.size));
  group_.meet(replica, "the sums of hierarchical copy's groups");
}

}  // namespace lockstep
