#include "lockstep/kernels/update/update.h"

#include <lockstep/kernels/update/optimizer_rules.h>
#include <lockstep/runtime/core/error.h>

namespace lockstep {

int state_slots(const OptimizerStep& step) {
  const int average = step.average == OptimizerStep::Average::none ? 0 : 1;
  return average + visit_rule(step.rule, [](const auto& rule) { return rule.slots; });
}

void check_views(const OptimizerStep& step, const UpdateViews& views) {
  require(!views.gradients.empty() && !views.parameters.empty(),
          "an update needs at least one replica's gradients and parameters, got {} and {}", views.gradients.size(),
          views.parameters.size());
  const auto slots = static_cast<std::size_t>(state_slots(step));
  require(views.state.size() == slots, "this update keeps {} state slots for a parameter, got {}", slots,
          views.state.size());
  const auto* const adam = std::get_if<AdamStep>(&step.rule);
  const auto* const lamb = std::get_if<LambDirectionStep>(&step.rule);
  const std::int64_t t = adam ? adam->t : lamb ? lamb->t : 1;
  require(t >= 1, "steps are counted from 1, got step {}", t);
}

}  // namespace lockstep
