#pragma once

#include <lockstep/kernels/update/update.h>
#include <lockstep/models/optimizers/rule.h>

namespace lockstep {

/// Updates one variable by Optimizer::Rule::compute. `options` has the gradient's scaling and clipping, the weight
/// decay and the moving average of the parameters. The caller sets `variable`, `keeps`, `learning_rate` and `t` of
/// `step`, and leaves `step.slots` empty. `views` has the variable's summed gradient, all its copies and, in
/// `views.state`, its slots, followed by its moving average if options.average is not `none`. Reads the copy of replica
/// `replica` (or the only copy) and writes all copies. Throws InvalidArgument if `compute` returns a wrong number of
/// slots or a result that does not have the variable's shape and dtype. If it throws, or if `compute` does, nothing has
/// been written.
void compute_step(const Optimizer::Rule& rule, const StepOptions& options, VariableStep& step, int replica,
                  const UpdateViews& views);

}  // namespace lockstep
