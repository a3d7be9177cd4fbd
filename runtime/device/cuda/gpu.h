#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <mutex>
#include <string>

#include <cuda_runtime_api.h>

#include <lockstep/runtime/device/device.h>
#include <lockstep/runtime/device/gpu_platform.h>

// What a logical GPU computes with. Only files in folders named cuda/ include this.

namespace lockstep {

/// Throws unless `status` is success: OutOfMemory when the GPU has none left, else DeviceError. `call` is the function
/// of CUDA that gave it.
void check_cuda(cudaError_t status, const char* call);

/// Where kernels say which index was outside its range: the first place of one, or none.
struct IndexFault {
  /// Of no fault.
  static constexpr unsigned long long none = ~0ULL;
  unsigned long long first = none;  ///< the place in the list of indices
};

/// A logical GPU: a share of a physical one with streams of its own, one for each queue. Several of them on one
/// physical GPU run side by side. Thread-safe.
class Gpu {
 public:
  /// The streams are made here. Throws DeviceError, and Unsupported without a GPU.
  explicit Gpu(const LogicalDevice& device);
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  /// "GPU:1", the number being the logical one.
  const LogicalDevice& device() const { return device_; }
  /// CUDA's number of the physical GPU.
  int ordinal() const { return ordinal_; }
  /// Where the calling thread enqueues the work of a queue: that of the compute queue elsewhere while it captures.
  /// Throws NotCapturable for another queue, or another GPU, than it captures.
  cudaStream_t stream(GpuQueue queue = GpuQueue::compute) const;
  /// Where the work of a queue is done.
  cudaStream_t queue_stream(GpuQueue queue) const { return streams_[static_cast<std::size_t>(queue)]; }
  /// Makes it the GPU that CUDA's calls of this thread are for.
  void make_current() const;
  /// Waits for all that it has been given to compute. Throws as GpuPlatform::synchronize.
  void synchronize();
  /// Waits for the work of all queues. Throws as GpuPlatform::synchronize.
  void synchronize_queues();
  /// Where kernels report indices outside their range, in memory that both sides see; `what` names the indices in the
  /// error that synchronize() then throws. One for each `what`, made at its first use.
  IndexFault* index_fault(const std::string& what);

  /// What has been computed on it cannot be trusted: the next synchronize() throws DeviceError with this message.
  /// Empty: it can.
  void set_error(std::string message);

  /// As GpuPlatform says.
  void begin_capture() const;
  /// The same; of the caller, who instantiates it. Throws DeviceError.
  cudaGraph_t end_capture() const;

  /// What it computes from now on, it does after all that `other` has been given to compute. The host does not wait.
  void wait_for(const Gpu& other) const;

 private:
  void throw_errors();

  LogicalDevice device_;
  int ordinal_;
  std::array<cudaStream_t, 3> streams_{};  ///< by GpuQueue
  std::mutex mutex_;                       ///< of the faults and the error
  std::map<std::string, IndexFault*> faults_;
  std::string error_;
};

/// A place in the work of a GPU's queue that other work can be put after.
class CudaEvent {
 public:
  /// For work of `gpu`. Throws DeviceError.
  explicit CudaEvent(const Gpu& gpu);
  ~CudaEvent();
  CudaEvent(const CudaEvent&) = delete;
  CudaEvent& operator=(const CudaEvent&) = delete;
  /// After all that the queue of `gpu` has been given so far.
  void record(const Gpu& gpu, GpuQueue queue = GpuQueue::compute);
  /// What the queue of `later` is given from now on, it does after what was recorded last.
  void order_before(const Gpu& later, GpuQueue queue = GpuQueue::compute) const;
  /// Waits on the host for what was recorded last. Throws DeviceError.
  void wait() const;
  /// Whether the work before it is done: success, cudaErrorNotReady, or why it failed.
  cudaError_t state() const { return cudaEventQuery(event_); }

 private:
  cudaEvent_t event_ = nullptr;
};

/// The logical GPU of a device, made at first use and there until the program's end. Throws as Gpu's constructor.
Gpu& gpu(const LogicalDevice& device);
/// That of the calling thread's device, which becomes current.
Gpu& current_gpu();

}  // namespace lockstep
