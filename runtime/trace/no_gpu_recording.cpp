#include <lockstep/runtime/core/error.h>
#include <lockstep/runtime/trace/gpu_recording.h>

namespace lockstep {

GpuRecording::GpuRecording(std::size_t) {
  fail<Unsupported>("this build cannot record GPU activity: it has no CUPTI, which comes with the CUDA toolkit");
}

GpuRecording::~GpuRecording() = default;

GpuTimeline GpuRecording::finish() { return GpuTimeline(0); }

}  // namespace lockstep
