#pragma once

#include <cupti.h>

#include <lockstep/runtime/trace/gpu_timeline.h>

namespace lockstep {

/// Adds the kernel, copy or memset that a CUPTI record describes to `timeline`. Ignores records of other kinds.
void add_activity(const CUpti_Activity& record, GpuTimeline& timeline);

}  // namespace lockstep
