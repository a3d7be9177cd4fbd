#pragma once

#include <cstddef>

#include <lockstep/runtime/trace/gpu_timeline.h>

namespace lockstep {

/// Records the kernels, copies and memsets of this process on all GPUs, by CUPTI: those inside CUDA graphs one by one.
/// One at a time.
class GpuRecording {
 public:
  /// Throws Unsupported, saying why, in a build without CUPTI, where its library is missing, and where it refuses: no
  /// GPU, no permission, another profiler. Throws LogicError while another one records.
  explicit GpuRecording(std::size_t capacity = std::size_t{1} << 20);
  ~GpuRecording();
  GpuRecording(const GpuRecording&) = delete;
  GpuRecording& operator=(const GpuRecording&) = delete;

  /// Ends the recording and returns what the GPUs have done. What they are still at is not in it. Once.
  GpuTimeline finish();
};

}  // namespace lockstep
