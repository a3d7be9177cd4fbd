#include "lockstep/kernels/cuda/convolution_plan.h"

#include <limits>

#include <lockstep/kernels/cuda/operands.h>

namespace lockstep::cudnn {

void ConvolutionPlan::choose_fastest(std::int64_t count, const TimeOf& time_of) {
  double least = std::numeric_limits<double>::infinity();
  std::int64_t fastest = -1;
  std::int64_t first = -1;
  for (std::int64_t index = 0; index < count; ++index) {
    if (!choose(index)) continue;
    if (first < 0) first = index;
    const double time = time_of(*this);
    if (!(time < least)) continue;  // also for NaN
    least = time;
    fastest = index;
  }
  if (first < 0)
    choose_first();  // throws, with cuDNN's reason
  else
    choose(fastest < 0 ? first : fastest);
}

void ConvolutionPlan::check_contracts(const Convolution& convolution, const Operands& operands,
                                      const void* workspace) const {
  const Convolution& c = convolution;
  check_operands("a convolution of cuDNN's",
                 {operand(operands.x, c.x().elements(), c.dtype),
                  operand(operands.kernel, c.kernel().elements(), c.dtype),
                  operand(operands.y, c.y().elements(), c.dtype),
                  operand(operands.bias, c.bias ? c.bias_layout().elements() : 0, c.dtype),
                  {workspace, static_cast<std::size_t>(workspace_bytes_), operand_alignment}});
}

}  // namespace lockstep::cudnn
