#pragma once

#include <lockstep/kernels/update/update.h>
#include <lockstep/models/optimizers/rule.h>

namespace lockstep {

/// Updates one variable by Optimizer::Rule::compute. The caller sets `variable`, `keeps`, `learning_rate` and `t` of
/// `step`. `views` has the variable's summed gradient, its slots and all its copies. Reads copy `replica` (or the only
/// copy) and writes all copies. Throws InvalidArgument for a wrong number of slots and for results that do not have the
/// variable's shape and dtype, and any error of `compute`, all before anything is written.
void compute_step(const Optimizer::Rule& rule, const StepOptions& options, VariableStep& step, int replica,
                  const UpdateViews& views);

}  // namespace lockstep
