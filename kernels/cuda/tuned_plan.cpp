#include "lockstep/kernels/cuda/tuned_plan.h"

#include <lockstep/runtime/core/logging.h>

namespace lockstep::cudnn {

ConvolutionPlan tuned_plan(PlanCache& cache, const std::string& gpu_text, const Convolution& convolution,
                           const PlannedFor& gpu, const std::function<ConvolutionPlan::TimeOf()>& make_timer) {
  const std::string key = fmt::format("{}; {}; {}", versions(), gpu_text, convolution.text());
  if (const auto kept = cache.find(key)) {
    if (std::optional<ConvolutionPlan> plan = ConvolutionPlan::restored(convolution, gpu, *kept))
      return *std::move(plan);
    log_warning("cuDNN refuses the saved plan for the {}, which is timed again", convolution.text());
  }
  ConvolutionPlan plan(convolution, gpu, make_timer());
  const PlanCache::Bytes bytes = plan.serialized();
  cache.keep(key, bytes);
  // Returns the plan as later programs will restore it, without the other plans that were timed.
  if (std::optional<ConvolutionPlan> lean = ConvolutionPlan::restored(convolution, gpu, bytes)) return *std::move(lean);
  return plan;
}

}  // namespace lockstep::cudnn
