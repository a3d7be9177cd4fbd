#include "lockstep/kernels/update/update.h"

#include <lockstep/kernels/update/update_kernels.h>
#include <lockstep/runtime/core/error.h>

namespace lockstep {

int state_slots(const OptimizerStep& step) {
  return step.rule->slots() + (step.average == StepOptions::Average::none ? 0 : 1);
}

void check_views(const OptimizerStep& step, const UpdateViews& views) {
  require(!views.gradients.empty() && !views.parameters.empty(),
          "an update needs at least one replica's gradients and parameters, got {} and {}", views.gradients.size(),
          views.parameters.size());
  const auto slots = static_cast<std::size_t>(state_slots(step));
  require(views.state.size() == slots, "this update keeps {} state slots for a parameter, got {}", slots,
          views.state.size());
}

void kernels::Update::on_cpu() const {
  check_views(step, views);
  step.rule->on_cpu(step, views);
}

void kernels::on_host(const Update& update) {
  check_views(update.step, update.views);
  update.step.rule->on_host(update.step, update.views);
}

void kernels::on_gpu(const Update& update) {
  check_views(update.step, update.views);
  update.step.rule->on_gpu(update.step, update.views);
}

}  // namespace lockstep
