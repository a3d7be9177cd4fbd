#include "lockstep/strategy/update/hierarchical_copy_update.h"

#include <algorithm>
#include <vector>

#include <lockstep/runtime/trace/step_clock.h>
#include <lockstep/strategy/comm/collective_names.h>
#include <lockstep/strategy/comm/local/hierarchical_copy_communicator.h>
#include <lockstep/strategy/update/shared_memory_update.h>

namespace lockstep {

void HierarchicalCopyUpdate::reduce_and_update(int replica, const FlatViews& views, std::span<const FlatRange> ranges,
                                               const UpdateFn& update) {
  add_up_halves(replica, views, ranges);
  std::vector<float*> sums;
  for (int half = 0; half < halves_of(group_.size()); ++half) sums.push_back(sums_[half].data<float>());
  update_shares(group_, replica, {sums, views.parameters, views.state}, ranges, update);
}

void HierarchicalCopyUpdate::add_up_halves(int replica, const FlatViews& views, std::span<const FlatRange> ranges) {
  const PhaseTimer timer(Phase::reduce);
  const HalfOfReplicas half = half_of(replica, group_.size());
  Tensor& sums = sums_[half.number];
  std::int64_t end = 0;
  for (const FlatRange& range : ranges) end = std::max(end, range.end);
  if (replica == half.begin && (!sums.defined() || sums.elements() < end)) sums = Tensor::empty({end});
  group_.barrier(replica, views.name);
  const auto gradients = views.gradients.subspan(half.begin, half.size);
  for (const FlatRange& range : ranges)
    add_up_range(gradients, sums.data<float>(), shard_of(range, replica - half.begin, half.size));
  group_.barrier(replica, "the sums of hierarchical copy's groups");
}

}  // namespace lockstep
