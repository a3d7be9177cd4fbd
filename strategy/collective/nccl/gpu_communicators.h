#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include <lockstep/runtime/cluster/cluster.h>
#include <lockstep/runtime/core/dtype.h>
#include <lockstep/runtime/device/contracts.h>

namespace lockstep {

/// One GPU's part in what all GPUs do together, with dense memory of its own.
struct GpuPart {
  /// What comes of the elements of all GPUs: their sum; the sum of their quotients by the number of GPUs, f32 only;
  /// their product; or all of them, GPU by GPU.
  enum class Kind { sum, mean, product, gather };
  Kind kind = Kind::sum;       ///< what comes of them
  DType dtype = DType::f32;    ///< f32, bf16 (rounded after each addition), i32 or i64
  const void* from = nullptr;  ///< this GPU's elements
  void* to = nullptr;          ///< the result; may be `from`, unless it is gathered
  std::size_t elements = 0;    ///< at `from`, the same on all GPUs
};

/// Checks the contracts (runtime/device/contracts.h) of a part that is about to be enqueued in a stream of one of
/// `gpus` that come together.
inline void check_part(const char* what, const Stream& stream, const GpuPart& part, int gpus) {
  const std::size_t element = size_of(part.dtype);
  const std::size_t bytes = part.elements * element;
  const std::size_t results = part.kind == GpuPart::Kind::gather ? static_cast<std::size_t>(gpus) : 1;
  contracts::check(what, stream, {{part.from, bytes, element}, {part.to, bytes * results, element}});
}

/// What GPUs that are each a physical one combine values by. All of them have to be given the same parts in the same
/// order, each in its own memory.
class GpuCommunicators {
 public:
  virtual ~GpuCommunicators() = default;
  /// On replica `replica`'s thread: enqueues its parts, in one go, in its GPU's compute stream. All replicas have come
  /// to the same place, and go on when all have enqueued. `what` names them in errors. Throws DeviceError, Timeout.
  virtual void enqueue(int replica, const char* what, std::span<const GpuPart> parts) = 0;
  /// On any replica's thread: enqueues a part of each replica of this process, in replica order, in the communication
  /// streams of their GPUs. Throws DeviceError, Timeout.
  virtual void enqueue_for_all(const char* what, std::span<const GpuPart> parts) = 0;
  /// After a step that failed, when no replica is in a call: what some replicas have enqueued without the others would
  /// never end on their GPUs. It is ended then, and enqueuing throws DeviceError from now on.
  virtual void abandon_step() = 0;
};

/// Makes those of these GPUs, each a replica's, with those of other workers where there is a cluster, which outlives
/// them. `timeout` is the longest time of the making, and of what is enqueued at once.
using MakeCommunicators = std::unique_ptr<GpuCommunicators>(const std::vector<LogicalDevice>& gpus,
                                                            std::chrono::milliseconds timeout, Cluster* cluster);

/// NCCL's. Throws DeviceError, Timeout, what the cluster throws, and Unsupported in a build without CUDA.
MakeCommunicators make_nccl_communicators;
/// NCCL's, outside of tests.
MakeCommunicators make_gpu_communicators;

/// Puts others in their place, for tests on machines without a GPU. Not while there are strategies on GPUs.
class GpuCommunicatorsScope {
 public:
  /// Until the scope ends.
  explicit GpuCommunicatorsScope(MakeCommunicators* make);
  ~GpuCommunicatorsScope();
  GpuCommunicatorsScope(const GpuCommunicatorsScope&) = delete;
  GpuCommunicatorsScope& operator=(const GpuCommunicatorsScope&) = delete;
};

}  // namespace lockstep
