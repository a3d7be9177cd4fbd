#include "lockstep/kernels/cuda/tuned_plan.h"

namespace lockstep::cudnn {

ConvolutionPlan tuned_plan(PlanCache& cache, const std::string& gpu_text, const Convolution& convolution,
                           const PlannedFor& gpu, const std::function<ConvolutionPlan::TimeOf()>& make_timer) {
  return kept_plan<ConvolutionPlan>(cache, gpu_text, convolution, gpu,
                                    [&] { return ConvolutionPlan(convolution, gpu, make_timer()); });
}

}  // namespace lockstep::cudnn
