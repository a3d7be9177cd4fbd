#include "lockstep/models/optimizers/rule.h"

#include <lockstep/runtime/core/error.h>

namespace lockstep {

OptimizerStep Optimizer::Rule::step(float, std::int64_t) const {
  fail<Unsupported>("the rule of the optimizer {} overrides neither step nor computes_variables", config().class_name);
}

void Optimizer::Rule::compute(VariableStep&) const {
  fail<Unsupported>("the rule of the optimizer {} computes variables but does not override compute",
                    config().class_name);
}

}  // namespace lockstep
