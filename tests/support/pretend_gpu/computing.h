#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include <support/pretend_gpu/device_memory.h>
#include <support/pretend_gpu/pretend_cuda.h>

#include <lockstep/runtime/device/stream.h>

namespace lockstep::test {

/// Runs kernels for GPUs of the pretended CUDA: the calling thread does a kernel's work after the GPU's stream has done
/// all earlier work.
class PretendGpuComputing {
 public:
  explicit PretendGpuComputing(PretendCuda& cuda) : cuda_(cuda) {}
  /// The memory of all GPUs.
  DeviceMemory& memory() { return memory_; }
  /// Begins `kernel`, which it counts: returns when the calling thread's GPU has done all earlier work. Throws
  /// DeviceError if the launch has to fail (PretendCuda::fail_work).
  void launch(const char* kernel);
  /// Whether the calling thread captures.
  bool captures() const;
  /// Runs `work` of `kernel` with the GPUs' memory open, or records it for a graph if the calling thread captures.
  /// `work` must hold addresses only, no tensors that keep memory. Throws like `launch`.
  void compute(const char* kernel, std::function<void()> work);
  /// Reports that index number `place` of an op is out of range: as on a GPU, the next wait for its work throws.
  static void report_out_of_range(const std::string& op, std::int64_t place);

 private:
  void take_work(cudaStream_t stream);

  PretendCuda& cuda_;
  DeviceMemory memory_;
};

/// Gives the machine `gpus` GPUs of the pretended CUDA until the program's end. Throws LogicError if the pretended CUDA
/// has not been loaded.
void install_pretended_cuda(int gpus);

/// The progress of a stream of one of these GPUs.
StreamProgress progress_of(const Stream& stream);

}  // namespace lockstep::test
