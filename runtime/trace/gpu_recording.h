#pragma once

#include <cstddef>

#include <lockstep/runtime/trace/gpu_timeline.h>

namespace lockstep {

/// Records this process's kernels, copies and memsets on all GPUs with CUPTI, including those inside CUDA graphs.
/// Only one recording may run at a time.
class GpuRecording {
 public:
  /// Begins a recording of at most `capacity` kernels, copies and memsets; GpuTimeline::left_out counts the rest.
  /// Throws Unsupported, with the reason, in a build without CUPTI, if CUPTI's library is missing, or if CUPTI cannot
  /// record, for example because there is no GPU, permission is missing or another profiler runs. Throws LogicError
  /// while another recording runs.
  explicit GpuRecording(std::size_t capacity = std::size_t{1} << 20);
  ~GpuRecording();
  GpuRecording(const GpuRecording&) = delete;
  GpuRecording& operator=(const GpuRecording&) = delete;

  /// Ends the recording and returns the work that GPUs have completed; work still running is not included. Throws
  /// LogicError when called again.
  GpuTimeline finish();
};

}  // namespace lockstep
