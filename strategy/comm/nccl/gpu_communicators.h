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

/// One buffer of a GPU in a collective; a collective may have several for each GPU. Its memory must be dense.
struct GpuPart {
  /// The operation on the elements of all GPUs. `mean` supports only f32 and divides each element by the number of GPUs
  /// before adding. `gather` concatenates the elements in the order of the GPUs.
  enum class Kind { sum, mean, product, gather };
  Kind kind = Kind::sum;       ///< operation
  DType dtype = DType::f32;    ///< f32, bf16 (rounded after each addition), i32 or i64
  const void* from = nullptr;  ///< this GPU's elements
  void* to = nullptr;          ///< the result; may be `from` unless `kind` is gather
  std::size_t elements = 0;    ///< number of elements at `from`; the same on all GPUs
};

/// Checks a part against the memory contracts (runtime/device/contracts.h) before it is enqueued in `stream`, for a
/// collective of `gpus` GPUs.
inline void check_part(const char* what, const Stream& stream, const GpuPart& part, int gpus) {
  const std::size_t element = size_of(part.dtype);
  const std::size_t bytes = part.elements * element;
  const std::size_t results = part.kind == GpuPart::Kind::gather ? static_cast<std::size_t>(gpus) : 1;
  contracts::check(what, stream, {{part.from, bytes, element}, {part.to, bytes * results, element}});
}

/// Connects the GPUs of this process with each other and with the GPUs of other workers. Each replica has a physical
/// GPU of its own.
class GpuCommunicators {
 public:
  virtual ~GpuCommunicators() = default;
  /// Number of GPUs of all workers together.
  virtual int ranks() const = 0;
  /// Enqueues one collective over all replicas' parts, as one NCCL group, in the GPUs' communication streams.
  /// `parts[r]` are the parts of replica r, in its GPU's memory. All replicas of all workers must have the same number
  /// of parts, with the same kinds, dtypes and numbers of elements. `what` names the collective in errors. One thread
  /// calls it for all replicas. Throws DeviceError, Timeout.
  virtual void enqueue(const char* what, std::span<const std::vector<GpuPart>> parts) = 0;
  /// Called when enqueue does not return and the strategy ends: the cluster may be destroyed before this, and a later
  /// failure is not reported to the GPUs, which another strategy may use by then.
  virtual void abandon() {}
};

/// Makes NCCL communicators for `gpus`, one per replica, connected with the GPUs of other workers if `cluster` is not
/// null. `cluster` must outlive the result. `timeout`, at most longest_timeout, limits the connection and
/// each collective. Throws DeviceError, Timeout, whatever the cluster throws, and Unsupported in a build without CUDA.
std::unique_ptr<GpuCommunicators> make_gpu_communicators(const std::vector<LogicalDevice>& gpus,
                                                         std::chrono::milliseconds timeout, Cluster* cluster);

}  // namespace lockstep
