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

///@{
/// Throws unless `status` is success: OutOfMemory when the GPU has none left, else DeviceError. `call` is the function
/// of CUDA that gave it, `gpu` the one it was called for, by default the calling thread's device.
void check_cuda(cudaError_t status, const char* call, const LogicalDevice& gpu);
void check_cuda(cudaError_t status, const char* call);
///@}

/// Where kernels say which index was outside its range: the first place of one, or none.
struct IndexFault {
  /// Of no fault.
  static constexpr unsigned long long none = ~0ULL;
  unsigned long long first = none;  ///< the place in the list of indices
};

/// A logical GPU: a share of a physical one with streams of its own. Several of them on one physical GPU run
/// concurrently. Thread-safe.
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
  /// Where the calling thread enqueues work: instead of the compute stream, the one that it captures. Throws
  /// NotCapturable for another stream, or another GPU, than it captures.
  cudaStream_t stream(StreamKind kind = StreamKind::compute) const;
  /// The stream itself.
  cudaStream_t own_stream(StreamKind kind) const { return streams_[static_cast<std::size_t>(kind)]; }
  /// Makes it the GPU that CUDA's calls of this thread are for.
  void make_current() const;
  /// Waits for all that it has been given to compute. Throws as GpuPlatform::synchronize.
  void synchronize();
  /// Waits for the work of all streams. Throws as GpuPlatform::synchronize.
  void synchronize_streams();
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
  std::array<cudaStream_t, stream_kinds.size()> streams_{};  ///< by kind
  std::mutex mutex_;                                         ///< of the faults and the error
  std::map<std::string, IndexFault*> faults_;
  std::string error_;
};

/// CUDA's event of a GPU.
class CudaEvent final : public GpuEvent {
 public:
  /// Throws DeviceError.
  explicit CudaEvent(const Gpu& gpu);
  ~CudaEvent() override;
  CudaEvent(const CudaEvent&) = delete;
  CudaEvent& operator=(const CudaEvent&) = delete;
  void record(const Stream& stream) override;
  void make_wait(const Stream& stream) const override;
  void synchronize() const override;
  /// Whether the work before it is done: success, cudaErrorNotReady, or why it failed.
  cudaError_t state() const { return cudaEventQuery(event_); }

 private:
  const Gpu& gpu_;
  cudaEvent_t event_ = nullptr;
};

/// The logical GPU of a device, made at first use and there until the program's end. Throws as Gpu's constructor.
Gpu& gpu(const LogicalDevice& device);
/// That of the calling thread's device, which becomes current.
Gpu& current_gpu();

}  // namespace lockstep
