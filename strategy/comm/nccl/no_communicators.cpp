#include <lockstep/runtime/core/error.h>
#include <lockstep/strategy/comm/nccl/gpu_communicators.h>

namespace lockstep {

std::unique_ptr<GpuCommunicators> make_gpu_communicators(const std::vector<LogicalDevice>&, std::chrono::milliseconds,
                                                         Cluster*) {
  fail<Unsupported>("cross-device ops 'nccl' need a build with CUDA (configure with LOCKSTEP_CUDA=ON)");
}

}  // namespace lockstep
