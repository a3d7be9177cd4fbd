#include "lockstep/strategy/comm/local/reduction_to_one_device_communicator.h"

#include <lockstep/kernels/update/reduce.h>
#include <lockstep/kernels/update/update_kernels.h>
#include <lockstep/strategy/comm/flat_range.h>

namespace lockstep {
namespace {

Tensor copied_here(const Tensor& value) {
  const Tensor here = Tensor::empty(value.shape(), value.dtype());
  copy(value, here);
  return here;
}

}  // namespace

void ReductionToOneDeviceCommunicator::combine(int replica, ReduceOp op, std::span<const PackViews> packs) {
  if (replica == 0) {
    for (const PackViews& pack : packs) {
      std::vector<Tensor> here{pack.in.front()};
      for (int other = 1; other < group().size(); ++other) here.push_back(copied_here(pack.in[other]));
      reduce_range(op, here, std::span(pack.out).first(1), {0, pack.in.front().elements()});
    }
  }
  group().barrier(replica, "the result of reduction to one device");
  if (replica == 0) return;
  for (const PackViews& pack : packs) copy(pack.out.front(), pack.out[replica]);
}

}  // namespace lockstep
