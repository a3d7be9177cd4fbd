#pragma once

#include <memory>
#include <vector>

#include <lockstep/strategy/collective/collective.h>

namespace lockstep {

/// GPUs that are each a physical one combine their values with NCCL, one communicator for each. Values are added in the
/// order of NCCL's algorithm, the same on every call of one size. Gradients are exchanged beside backward, bucket by
/// bucket, from the second step on: the first one lets NCCL connect the GPUs while nothing else is under way. Throws
/// Unsupported for several replicas on one physical GPU, and in a build without CUDA; DeviceError when the
/// communicators cannot be made. With a cluster, `gpus` are those of this worker, and NCCL connects the GPUs of all.
std::unique_ptr<Collective> make_nccl_collective(ReplicaGroup& group, const std::vector<LogicalDevice>& gpus,
                                                 const CollectiveOptions& options);

}  // namespace lockstep
