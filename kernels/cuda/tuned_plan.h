#pragma once

#include <functional>
#include <string>

#include <lockstep/kernels/cuda/convolution_plan.h>
#include <lockstep/kernels/cuda/plan_cache.h>
#include <lockstep/runtime/core/logging.h>

namespace lockstep::cudnn {

/// Returns the plan that `cache` has for `what` (a Convolution or a FusedAttention), the kind of GPU `gpu_text` and the
/// library versions in use. If there is no such plan or cuDNN rejects it, calls make() and stores the result in
/// `cache`.
template <class Plan, class What, class Make>
Plan kept_plan(PlanCache& cache, const std::string& gpu_text, const What& what, const PlannedFor& gpu,
               const Make& make) {
  const std::string key = fmt::format("{}; {}; {}", versions(), gpu_text, what.text());
  if (const auto kept = cache.find(key)) {
    if (std::optional<Plan> plan = Plan::restored(what, gpu, *kept)) return *std::move(plan);
    log_warning("cuDNN refuses the saved plan for the {}, which is made again", what.text());
  }
  Plan plan = make();
  const PlanCache::Bytes bytes = plan.serialized();
  cache.keep(key, bytes);
  // Returns the plan as later programs will restore it, without the other plans that were timed.
  if (std::optional<Plan> lean = Plan::restored(what, gpu, bytes)) return *std::move(lean);
  return plan;
}

/// Returns the plan of the convolution's fastest algorithm. If `cache` has none, times all algorithms with the function
/// that make_timer() returns. Throws the errors of ConvolutionPlan's constructors.
ConvolutionPlan tuned_plan(PlanCache& cache, const std::string& gpu_text, const Convolution& convolution,
                           const PlannedFor& gpu, const std::function<ConvolutionPlan::TimeOf()>& make_timer);

}  // namespace lockstep::cudnn
