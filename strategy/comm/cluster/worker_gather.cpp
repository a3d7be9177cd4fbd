#include "lockstep/strategy/comm/cluster/worker_gather.h"

#include <lockstep/kernels/op/transfer.h>
#include <lockstep/strategy/comm/cluster/over_workers.h>
#include <lockstep/strategy/comm/collective_names.h>

namespace lockstep {

void WorkerGather::run(int replica, int axis, std::vector<Gathered>& values) {
  if (replica == 0) {
    of_all_.clear();
    cluster_.agree(all_gather_name, "the number of tensors is", fmt::format("{}", values.size()));
    for (const Gathered& part : values) of_all_.push_back(all_gather_over(cluster_, all_gather_name, part.value, axis));
  }
  group_.barrier(replica, "the parts of all workers");
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Gathered& whole = of_all_[i];
    values[i].offset += whole.offset;
    values[i].value = Tensor::empty(whole.value.shape(), whole.value.dtype());
    assign(whole.value, values[i].value);
  }
  group_.barrier(replica, "the end of all_gather over the workers");
}

}  // namespace lockstep
