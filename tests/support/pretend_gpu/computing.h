#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include <support/pretend_gpu/device_memory.h>
#include <support/pretend_gpu/pretend_cuda.h>

#include <lockstep/runtime/device/stream.h>

namespace lockstep::test {

/// Runs kernels for the GPUs of PretendCuda on the calling thread, after the compute stream has finished all earlier
/// work.
class PretendGpuComputing {
 public:
  explicit PretendGpuComputing(PretendCuda& cuda) : cuda_(cuda) {}
  /// The memory of all GPUs.
  DeviceMemory& memory() { return memory_; }
  /// Counts a launch of `kernel` and waits until the compute stream of the calling thread's GPU has done all earlier
  /// work. Throws DeviceError if PretendCuda::fail_work has selected this launch.
  void launch(const char* kernel);
  /// Whether the compute stream of the calling thread's GPU is being captured.
  bool captures() const;
  /// Runs `work`, the work of `kernel`, with access to the GPUs' memory, or adds it to the graph if the calling thread
  /// is capturing. `work` must hold addresses instead of tensors, which would keep their memory allocated. Throws the
  /// same errors as `launch`.
  void compute(const char* kernel, std::function<void()> work);
  /// Reports that the index at position `place` in the indices of `op` is out of range. As on a GPU, the next
  /// synchronization with the GPU throws.
  static void report_out_of_range(const std::string& op, std::int64_t place);

 private:
  void take_work(cudaStream_t stream);

  PretendCuda& cuda_;
  DeviceMemory memory_;
};

/// Makes PretendCuda provide `gpus` GPUs until the program ends. Throws LogicError if PretendCuda's library has not
/// been loaded.
void install_pretended_cuda(int gpus);

/// The progress of a stream of one of PretendCuda's GPUs.
StreamProgress progress_of(const Stream& stream);

}  // namespace lockstep::test
