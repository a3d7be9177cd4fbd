#pragma once

#include <functional>
#include <string>

#include <lockstep/kernels/cuda/convolution_plan.h>
#include <lockstep/kernels/cuda/plan_cache.h>

namespace lockstep::cudnn {

/// The plan of a convolution by its fastest algorithm: the one that `cache` has for this convolution, kind of GPU
/// (`gpu_text`) and version of the libraries, else the one that a timer finds, which is then kept there. A plan that
/// the library does not take counts as none. `make_timer` is called if there is something to time. Throws as
/// ConvolutionPlan.
ConvolutionPlan tuned_plan(PlanCache& cache, const std::string& gpu_text, const Convolution& convolution,
                           const PlannedFor& gpu, const std::function<ConvolutionPlan::TimeOf()>& make_timer);

}  // namespace lockstep::cudnn
