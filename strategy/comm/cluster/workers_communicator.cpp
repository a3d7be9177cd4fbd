#include "lockstep/strategy/comm/cluster/workers_communicator.h"

#include <lockstep/kernels/elementwise/elementwise_kernels.h>
#include <lockstep/kernels/update/reduce.h>
#include <lockstep/runtime/trace/step_clock.h>
#include <lockstep/strategy/comm/cluster/over_workers.h>
#include <lockstep/strategy/comm/collective_names.h>
#include <lockstep/strategy/comm/flat_range.h>

namespace lockstep {

void WorkersCommunicator::combine(int replica, ReduceOp op, std::span<const PackViews> packs) {
  if (replica == 0) {
    sums_.clear();
    for (const PackViews& pack : packs) {
      const DType dtype = pack.in.front().dtype();
      sums_.push_back(Tensor::empty(pack.in.front().shape(), dtype == DType::bf16 ? DType::f32 : dtype));
    }
  }
  group().barrier(replica, "the start of the workers' sums");
  for (std::size_t pack = 0; pack < packs.size(); ++pack) {
    std::vector<Tensor> in;
    const FlatRange share = shard_of({0, sums_[pack].elements()}, replica, group().size());
    for (const Tensor& value : packs[pack].in) {
      if (value.dtype() == sums_[pack].dtype()) {
        in.push_back(value);
        continue;
      }
      in.push_back(Tensor::empty(value.shape()));  // bf16 is summed in f32 over all replicas and workers
      launch(kernels::Convert{value, in.back()});
    }
    reduce_range(op == ReduceOp::mean ? ReduceOp::sum : op, in, std::span(&sums_[pack], 1), share);
  }
  group().barrier(replica, "the sums of a worker");
  if (replica == 0)
    for (Tensor& sum : sums_) sum = all_reduce_over(cluster_, all_reduce_name, op, sum, replicas_in_sync());
  group().barrier(replica, "the sums of all workers");
  for (std::size_t pack = 0; pack < packs.size(); ++pack)
    launch(kernels::Convert{sums_[pack], packs[pack].out[static_cast<std::size_t>(replica)]});
}

std::vector<Gathered> WorkersCommunicator::all_gather(int replica, std::span<const Tensor> values, int axis) {
  std::vector<Gathered> gathered = HostCommunicator::all_gather(replica, values, axis);
  const PhaseTimer timer(Phase::reduce);
  gather_.run(replica, axis, gathered);
  return gathered;
}

}  // namespace lockstep
