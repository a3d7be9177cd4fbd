#include "lockstep/strategy/comm/nccl/gpu_communicators.h"

#include <atomic>

namespace lockstep {
namespace {

std::atomic<MakeCommunicators*>& maker() {
  static std::atomic<MakeCommunicators*> make = &make_nccl_communicators;
  return make;
}

}  // namespace

std::unique_ptr<GpuCommunicators> make_gpu_communicators(const std::vector<LogicalDevice>& gpus,
                                                         std::chrono::milliseconds timeout, Cluster* cluster) {
  return maker().load()(gpus, timeout, cluster);
}

GpuCommunicatorsScope::GpuCommunicatorsScope(MakeCommunicators* make) { maker() = make; }

GpuCommunicatorsScope::~GpuCommunicatorsScope() { maker() = &make_nccl_communicators; }

}  // namespace lockstep
