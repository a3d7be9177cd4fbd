#pragma once

#include <lockstep/kernels/update/update.h>
#include <lockstep/models/optimizers/rule.h>

namespace lockstep {

/// An update of one variable by Optimizer::Rule::compute. `step` has the variable, what it keeps, the learning rate and
/// t. `views`: the variable's summed gradient, all copies to write, of which number `replica` or the only one is read,
/// and the slots. Throws InvalidArgument for results of another shape or dtype, and what `compute` throws; then nothing
/// has been written.
void compute_step(const Optimizer::Rule& rule, const StepOptions& options, VariableStep& step, int replica,
                  const UpdateViews& views);

}  // namespace lockstep
