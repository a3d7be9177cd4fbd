#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include <lockstep/runtime/core/dtype.h>
#include <lockstep/runtime/device/contracts.h>
#include <lockstep/strategy/comm/cluster/cluster.h>

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
/// `gpus` GPUs.
inline void check_part(const char* what, const Stream& stream, const GpuPart& part, int gpus) {
  const std::size_t element = size_of(part.dtype);
  const std::size_t bytes = part.elements * element;
  const std::size_t results = part.kind == GpuPart::Kind::gather ? static_cast<std::size_t>(gpus) : 1;
  contracts::check(what, stream, {{part.from, bytes, element}, {part.to, bytes * results, element}});
}

/// Communicators of the GPUs of this process, each a replica's and a physical GPU of its own, with those of other
/// workers.
class GpuCommunicators {
 public:
  virtual ~GpuCommunicators() = default;
  /// How many GPUs all workers have.
  virtual int ranks() const = 0;
  /// Enqueues one collective as one group: `parts[r]` are those of replica r, in its GPU's memory, and run in its
  /// communication stream. All replicas have equally many parts, of equal kinds, dtypes and numbers of elements. `what`
  /// names the collective in errors. Called by one thread. Throws DeviceError, Timeout.
  virtual void enqueue(const char* what, std::span<const std::vector<GpuPart>> parts) = 0;
};

/// NCCL's communicators of these GPUs, each a replica's, with those of other workers where there is a cluster, which
/// outlives them. `timeout` is the longest time of the making, and of what is enqueued at once. Throws DeviceError,
/// Timeout, what the cluster throws, and Unsupported in a build without CUDA.
std::unique_ptr<GpuCommunicators> make_gpu_communicators(const std::vector<LogicalDevice>& gpus,
                                                         std::chrono::milliseconds timeout, Cluster* cluster);

}  // namespace lockstep
