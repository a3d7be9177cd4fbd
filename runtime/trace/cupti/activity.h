#pragma once

#include <cupti.h>

#include <lockstep/runtime/trace/gpu_timeline.h>

namespace lockstep {

/// Adds what a record of CUPTI's says that a GPU did: a kernel, a copy or a memset. Other records are ignored.
void add_activity(const CUpti_Activity& record, GpuTimeline& timeline);

}  // namespace lockstep
