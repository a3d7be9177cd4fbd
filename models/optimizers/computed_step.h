#pragma once

#include <lockstep/kernels/update/update.h>
#include <lockstep/models/optimizers/rule.h>

namespace lockstep {

/// Updates one variable by Optimizer::Rule::compute. The caller has set the variable, `keeps`, the learning rate and t
/// of `step`. `views`: the variable's summed gradient; all its copies, of which copy `replica` (or the only copy) is
/// read and all are written; and the slots. Throws InvalidArgument for results of another shape or dtype, and what
/// `compute` throws; it has then written nothing.
void compute_step(const Optimizer::Rule& rule, const StepOptions& options, VariableStep& step, int replica,
                  const UpdateViews& views);

}  // namespace lockstep
