#include <lockstep/strategy/collective/nccl/nccl_collective.h>

namespace lockstep {

std::unique_ptr<Collective> make_nccl_collective(ReplicaGroup&, const std::vector<LogicalDevice>&,
                                                 const CollectiveOptions&) {
  fail<Unsupported>("cross-device ops 'nccl' need a build with CUDA (configure with LOCKSTEP_CUDA=ON)");
}

}  // namespace lockstep
