#include <lockstep/kernels/common/optimizer.h>

namespace lockstep {

int state_slots(const OptimizerStep& step) {
  const int average = step.average == OptimizerStep::Average::none ? 0 : 1;
  return average + visit_rule(step.rule, [](const auto& rule) { return rule.slots; });
}

}  // namespace lockstep
