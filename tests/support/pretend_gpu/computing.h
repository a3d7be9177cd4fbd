#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include <support/pretend_gpu/device_memory.h>
#include <support/pretend_gpu/pretend_cuda.h>

#include <lockstep/runtime/device/stream.h>

namespace lockstep::test {

/// What kernels are on GPUs of the pretended CUDA: work of the calling thread, which it does once the GPU's stream has
/// done what it was given before.
class PretendGpuComputing {
 public:
  explicit PretendGpuComputing(PretendCuda& cuda) : cuda_(cuda) {}
  /// Of all GPUs.
  DeviceMemory& memory() { return memory_; }
  /// What begins each kernel: returns when the GPU of the calling thread has done all before it. Throws DeviceError
  /// where that takes none (PretendCuda::fail_work).
  void launch();
  /// Whether the calling thread captures.
  bool captures() const;
  /// Does the work on the GPUs' memory, or notes it for a graph when the calling thread captures. The work holds
  /// addresses, no memory. Throws as `launch`.
  void compute(std::function<void()> work);
  /// An op has read a bad index, number `place` of them: as on a GPU, the next wait for its work throws.
  static void report_out_of_range(const std::string& op, std::int64_t place);

 private:
  void take_work(cudaStream_t stream);

  PretendCuda& cuda_;
  DeviceMemory memory_;
};

/// Makes this a machine with that many GPUs of the library's own, over the pretended CUDA, until the program's end.
/// Throws LogicError when that has not been loaded.
void install_pretended_cuda(int gpus);

/// Of a stream of one of its GPUs.
StreamProgress progress_of(const Stream& stream);

}  // namespace lockstep::test
