#include "lockstep/strategy/update/nccl_update.h"

#include <lockstep/runtime/trace/step_clock.h>
#include <lockstep/strategy/comm/collective_names.h>

namespace lockstep {

void NcclUpdate::gradients_final(int replica, const FlatViews& views, std::span<const FlatRange> ranges,
                                 std::size_t range) {
  if (connected_) exchange_.add(replica, wire_.part_of(replica, views, ranges, range), range, ranges.size());
}

void NcclUpdate::abandon_step() {
  if (cluster_ && exchange_.has_begun()) cluster_->fail_all("a step failed during the all-reduce of its gradients");
  exchange_.abandon();
}

void NcclUpdate::sum_gradients(int replica, const FlatViews& views, std::span<const FlatRange> ranges) {
  const PhaseTimer timer(Phase::reduce);
  group_.barrier_on_host(replica, gradients_name);
  if (cluster_) {
    if (replica == 0)
      cluster_->agree(gradients_name, "the number of gradients is",
                      fmt::format("{} as {}", ranges.empty() ? 0 : ranges.back().end, name(wire_.dtype())));
    group_.barrier_on_host(replica, gradients_name);
  }
  if (!exchange_.has_begun(replica)) {
    for (std::size_t range = 0; range < ranges.size(); ++range)
      exchange_.add(replica, wire_.part_of(replica, views, ranges, range), range, ranges.size());
    group_.barrier_on_host(replica, gradients_name);
    if (replica == 0) connected_ = true;  // made visible to other threads by the barrier at the step's end
  }
  exchange_.join(replica);
  wire_.finish(replica, views, ranges);
}

void NcclUpdate::reduce_and_update(int replica, const FlatViews& views, std::span<const FlatRange> ranges,
                                   const UpdateFn& update) {
  sum_gradients(replica, views, ranges);
  {
    const PhaseTimer timer(Phase::update);
    const auto own = static_cast<std::size_t>(replica);
    const FlatViews mine{views.gradients.subspan(own, 1), views.parameters.subspan(own, 1), views.state};
    for (const FlatRange& range : ranges) update_range(update, mine, range);
  }
  const PhaseTimer timer(Phase::reduce);
  group_.barrier_on_host(replica, update_end_name);
}

}  // namespace lockstep
