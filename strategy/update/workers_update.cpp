#include "lockstep/strategy/update/workers_update.h"

#include <lockstep/runtime/trace/step_clock.h>
#include <lockstep/strategy/comm/collective_names.h>
#include <lockstep/strategy/update/shared_memory_update.h>

namespace lockstep {

void WorkersUpdate::gradients_final(int /*replica*/, const FlatViews& views, std::span<const FlatRange> ranges,
                                    std::size_t range) {
  exchange_.add(views.gradients, ranges, range);
}

void WorkersUpdate::abandon_step() {
  if (exchange_.begun()) cluster_.fail_all("a step failed during the all-reduce of its gradients");
}

void WorkersUpdate::sum_gradients(int replica, const FlatViews& views, std::span<const FlatRange> ranges) {
  const PhaseTimer timer(Phase::reduce);
  group_.barrier(replica, views.name);
  const bool begun = exchange_.begun();  // the same for all replicas
  if (!begun && group_.size() > 1)
    for (const FlatRange& range : ranges)
      add_up_range(views.gradients, views.gradients.front(), shard_of(range, replica, group_.size()));
  group_.barrier(replica, "the sums of a worker");
  if (replica == 0 && begun) exchange_.finish();
  if (replica == 0 && !begun) exchange_.sum_over_workers(views.gradients.front(), ranges);
  group_.barrier(replica, "the sums of all workers");
}

void WorkersUpdate::reduce_and_update(int replica, const FlatViews& views, std::span<const FlatRange> ranges,
                                      const UpdateFn& update) {
  sum_gradients(replica, views, ranges);
  update_shares(group_, replica, {views.gradients.first(1), views.parameters, views.state}, ranges, update);
}

}  // namespace lockstep
