#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <mutex>
#include <string>

#include <cuda_runtime_api.h>

#include <lockstep/runtime/device/device.h>
#include <lockstep/runtime/device/gpu_platform.h>

// CUDA's streams, events and errors of a logical GPU. In the library, only CUDA sources (.cu, .cuh) and files in
// folders named cuda/ include this.

namespace lockstep {

///@{
/// Throw OutOfMemory if `status` is cudaErrorMemoryAllocation, and DeviceError if it is another error. `call` names the
/// CUDA function that returned `status`; `gpu` is the GPU it was called for, by default the calling thread's device.
void check_cuda(cudaError_t status, const char* call, const LogicalDevice& gpu);
void check_cuda(cudaError_t status, const char* call);
///@}

/// Where kernels report the first index that is out of range.
struct IndexFault {
  /// Value of `first` while all indices are in range.
  static constexpr unsigned long long none = ~0ULL;
  unsigned long long first = none;  ///< position of the first out-of-range index in the kernel's list of indices
};

/// A logical GPU: a share of a physical one with streams of its own. Several of them on one physical GPU run
/// concurrently. Thread-safe.
class Gpu {
 public:
  /// Creates the streams. Throws DeviceError, and Unsupported if there is no GPU.
  explicit Gpu(const LogicalDevice& device);
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  /// The logical device, such as GPU:1.
  const LogicalDevice& device() const { return device_; }
  /// CUDA's ordinal of the physical GPU.
  int ordinal() const { return ordinal_; }
  /// The stream in which the calling thread enqueues work of `kind`. While the thread captures, this is its capture
  /// stream instead of the compute stream, and the call throws NotCapturable for another kind or another GPU.
  cudaStream_t stream(StreamKind kind = StreamKind::compute) const;
  /// The GPU's stream of `kind`, even while the thread captures.
  cudaStream_t own_stream(StreamKind kind) const { return streams_[static_cast<std::size_t>(kind)]; }
  /// Makes this the calling thread's current CUDA device. Throws DeviceError.
  void make_current() const;
  /// Waits for the work of the compute stream. Throws the same errors as GpuPlatform::synchronize and also
  /// NotCapturable.
  void synchronize();
  /// Waits for the work of all streams. Throws the same errors as GpuPlatform::synchronize and also NotCapturable.
  void synchronize_streams();
  /// Memory, accessible to the host and the GPU, in which kernels report indices that are out of range. `what` names
  /// the indices in the error that synchronize() or synchronize_streams() then throws. The first call for each `what`
  /// allocates the memory; it throws OutOfMemory, DeviceError and, while the thread captures, NotCapturable.
  IndexFault* index_fault(const std::string& what);

  /// Marks the GPU's results as invalid: the next synchronize() or synchronize_streams() throws DeviceError with this
  /// message and removes the mark. An empty message removes it at once.
  void set_error(std::string message);

  /// Same as GpuPlatform::begin_capture.
  void begin_capture() const;
  /// Like GpuPlatform::end_capture, but returns the graph without instantiating it; the caller owns it. Throws
  /// DeviceError.
  cudaGraph_t end_capture() const;

  /// Orders later work of this GPU's compute stream after the work enqueued so far in `other`'s compute stream. Does
  /// not block the host. Throws DeviceError, NotCapturable.
  void wait_for(const Gpu& other) const;

 private:
  void throw_errors();

  LogicalDevice device_;
  int ordinal_;
  std::array<cudaStream_t, stream_kinds.size()> streams_{};  ///< by kind
  std::mutex mutex_;                                         ///< protects faults_ and error_
  std::map<std::string, IndexFault*> faults_;
  std::string error_;
};

/// A CUDA event of a GPU.
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
  /// State of the recorded work: cudaSuccess if it is done, else cudaErrorNotReady or the error it failed with.
  cudaError_t state() const { return cudaEventQuery(event_); }

 private:
  const Gpu& gpu_;
  cudaEvent_t event_ = nullptr;
};

/// The logical GPU of `device`, created at first use and never destroyed. Throws the same errors as Gpu's constructor.
Gpu& gpu(const LogicalDevice& device);
/// The logical GPU of the calling thread's device, after making it current.
Gpu& current_gpu();

}  // namespace lockstep
