#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include <support/pretend_gpu/device_memory.h>

namespace lockstep::test {

/// Where PretendGpuKernels has its work done: by GPUs that are pretended whole (PretendGpuPlatform), or by the
/// library's own ones over a pretended CUDA (cuda/).
class PretendGpuComputing {
 public:
  virtual ~PretendGpuComputing() = default;
  /// Of all GPUs.
  virtual DeviceMemory& memory() = 0;
  /// What begins each piece of work: returns when the GPU of the calling thread has done all before it. Throws where a
  /// launch is to fail.
  virtual void launch() = 0;
  /// Whether the calling thread captures.
  virtual bool captures() const = 0;
  /// Does the work on the GPUs' memory, or notes it for a graph when the calling thread captures. The work holds
  /// addresses, no memory.
  virtual void compute(std::function<void()> work) = 0;
  /// An op has read a bad index, number `place` of them: as on a GPU, the next wait for its work throws.
  virtual void report_out_of_range(const std::string& op, std::int64_t place) = 0;
};

}  // namespace lockstep::test
