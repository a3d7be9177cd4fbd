#include "lockstep/kernels/update/optimizer_rules.h"

#include <lockstep/kernels/update/element_rule.h>
#include <lockstep/runtime/core/error.h>

namespace lockstep {
namespace {

void check_count(std::int64_t t) { require(t >= 1, "steps are counted from 1, got step {}", t); }

}  // namespace

std::shared_ptr<const UpdateRule> rule_of(const SgdStep& step) {
  if (step.momentum == 0.0F) return element_rule(SgdRule(step));
  return element_rule(MomentumRule(step));
}

std::shared_ptr<const UpdateRule> rule_of(const AdamStep& step) {
  check_count(step.t);
  if (step.amsgrad) return element_rule(AmsgradRule(step));
  return element_rule(AdamRule(step));
}

std::shared_ptr<const UpdateRule> rule_of(const RmspropStep& step) {
  if (step.momentum == 0.0F) {
    if (step.centered) return element_rule(CenteredRmspropRule(step));
    return element_rule(RmspropRule(step));
  }
  if (step.centered) return element_rule(CenteredRmspropMomentumRule(step));
  return element_rule(RmspropMomentumRule(step));
}

std::shared_ptr<const UpdateRule> rule_of(const AdagradStep& step) { return element_rule(AdagradRule(step)); }

std::shared_ptr<const UpdateRule> rule_of(const LambDirectionStep& step) {
  check_count(step.t);
  return element_rule(LambDirectionRule(step));
}

}  // namespace lockstep
