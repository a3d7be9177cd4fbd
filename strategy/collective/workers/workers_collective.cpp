#include "lockstep/strategy/collective/workers/workers_collective.h"

#include <lockstep/kernels/elementwise/elementwise_kernels.h>
#include <lockstep/kernels/update/reduce.h>
#include <lockstep/runtime/trace/step_clock.h>
#include <lockstep/strategy/collective/flat_range.h>
#include <lockstep/strategy/collective/places.h>
#include <lockstep/strategy/collective/workers/over_workers.h>

namespace lockstep {

void WorkersCollective::combine(int replica, ReduceOp op, std::span<const PackViews> packs) {
  if (replica == 0) {
    sums_.clear();
    for (const PackViews& pack : packs) {
      const DType dtype = pack.in.front().dtype();
      sums_.push_back(Tensor::empty(pack.in.front().shape(), dtype == DType::bf16 ? DType::f32 : dtype));
    }
  }
  group().meet(replica, "the start of the workers' sums");
  for (std::size_t pack = 0; pack < packs.size(); ++pack) {
    std::vector<Tensor> in;
    const FlatRange share = shard_of({0, sums_[pack].elements()}, replica, group().size());
    for (const Tensor& value : packs[pack].in) {
      if (value.dtype() == sums_[pack].dtype()) {
        in.push_back(value);
        continue;
      }
      in.push_back(Tensor::empty(value.shape()));  // bf16 is added in f32 from end to end
      launch(kernels::Convert{value, in.back()});
    }
    reduce_range(op == ReduceOp::mean ? ReduceOp::sum : op, in, std::span(&sums_[pack], 1), share);
  }
  group().meet(replica, "the sums of a worker");
  if (replica == 0)
    for (Tensor& sum : sums_) sum = all_reduce_over(cluster_, reduce_place, op, sum, replicas_in_sync());
  group().meet(replica, "the sums of all workers");
  for (std::size_t pack = 0; pack < packs.size(); ++pack)
    launch(kernels::Convert{sums_[pack], packs[pack].out[static_cast<std::size_t>(replica)]});
}

std::vector<Gathered> WorkersCollective::all_gather(int replica, std::span<const Tensor> values, int axis) {
  std::vector<Gathered> gathered = HostCollective::all_gather(replica, values, axis);
  const PhaseTimer timer(Phase::reduce);
  gather_.run(replica, axis, gathered);
  return gathered;
}

void WorkersCollective::gradients_final(int /*replica*/, const FlatViews& views, std::span<const FlatRange> ranges,
                                        std::size_t range) {
  exchange_.add(views.gradients, ranges, range);
}

void WorkersCollective::abandon_step() {
  if (exchange_.begun()) cluster_.fail_all("a step failed while its gradients were on their way");
}

void WorkersCollective::add_up_own(int replica, const FlatViews& views, std::span<const FlatRange> ranges) {
  for (const FlatRange& range : ranges)
    add_up_range(views.gradients, views.gradients.front(), shard_of(range, replica, group().size()));
}

void WorkersCollective::reduce_and_update(int replica, const FlatViews& views, std::span<const FlatRange> ranges,
                                          const UpdateFn& update) {
  {
    const PhaseTimer timer(Phase::reduce);
    group().meet(replica, gradients_place);
    const bool begun = exchange_.begun();  // by all replicas, or by none
    if (!begun && group().size() > 1) add_up_own(replica, views, ranges);
    group().meet(replica, "the sums of a worker");
    if (replica == 0 && begun) exchange_.finish();
    if (replica == 0 && !begun) exchange_.sum_over_workers(views.gradients.front(), ranges);
    group().meet(replica, "the sums of all workers");
  }
  {
    const PhaseTimer timer(Phase::update);
    const FlatViews summed{views.gradients.first(1), views.parameters, views.state};
    for (const FlatRange& range : ranges) update_range(update, summed, shard_of(range, replica, group().size()));
  }
  const PhaseTimer timer(Phase::reduce);
  group().meet(replica, "the end of the update");
}

}  // namespace lockstep
