#pragma once

#include <functional>
#include <string>

#include <lockstep/kernels/cuda/convolution_plan.h>
#include <lockstep/kernels/cuda/plan_cache.h>

namespace lockstep::cudnn {

/// The plan of a convolution with its fastest algorithm. Takes it from `cache`, by convolution, kind of GPU
/// (`gpu_text`) and library versions; if the plan is not there or cuDNN rejects it, calls `make_timer`, times all
/// algorithms and keeps the fastest in `cache`. Throws the errors of ConvolutionPlan's constructors.
ConvolutionPlan tuned_plan(PlanCache& cache, const std::string& gpu_text, const Convolution& convolution,
                           const PlannedFor& gpu, const std::function<ConvolutionPlan::TimeOf()>& make_timer);

}  // namespace lockstep::cudnn
