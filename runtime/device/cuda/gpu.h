#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include <cuda_runtime_api.h>

#include <lockstep/runtime/device/device.h>

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

/// A logical GPU: a share of a physical one with a stream of its own. Several of them on one physical GPU run side by
/// side. What one replica does on it is ordered by the stream; its thread alone uses it.
class Gpu {
 public:
  /// The stream is made here. Throws DeviceError, and Unsupported without a GPU.
  explicit Gpu(const LogicalDevice& device);
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  /// "GPU:1", the number being the logical one.
  const LogicalDevice& device() const { return device_; }
  /// CUDA's number of the physical GPU.
  int ordinal() const { return ordinal_; }
  /// Where all of its work is enqueued.
  cudaStream_t stream() const { return stream_; }
  /// Makes it the GPU that CUDA's calls of this thread are for.
  void make_current() const;
  /// Blocks until all enqueued work is done. Throws DeviceError for work that failed, and InvalidArgument for the
  /// indices outside their range that kernels have met since the last time.
  void synchronize();
  /// Where kernels report indices outside their range, in memory that both sides see; `what` names the indices in the
  /// error that synchronize() then throws. One for each `what`, made at its first use.
  IndexFault* index_fault(const std::string& what);
  /// Work enqueued from now on waits for all that has been enqueued on `other` so far. The host does not wait.
  void wait_for(const Gpu& other) const;

 private:
  void throw_faults();

  LogicalDevice device_;
  int ordinal_;
  cudaStream_t stream_ = nullptr;
  std::mutex mutex_;  ///< of the faults, which any thread that reads a value looks at
  std::map<std::string, IndexFault*> faults_;
};

/// The logical GPU of a device, made at first use and there until the program's end. Logical GPUs are dealt out to the
/// physical ones in turn: GPU:5 of a machine with two is on the second. Throws as Gpu's constructor.
Gpu& gpu(const LogicalDevice& device);
/// That of the calling thread's device, which becomes current.
Gpu& current_gpu();

}  // namespace lockstep
