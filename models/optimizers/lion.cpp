#include "lockstep/models/optimizers/lion.h"

#include <lockstep/kernels/update/element_rule.h>
#include <lockstep/models/optimizers/optimizer_config.h>
#include <lockstep/models/optimizers/rule.h>

namespace lockstep {
namespace {

void list(OptionVisitor& visitor, LionOptions& options) {
  visitor.option("beta_1", options.beta_1);
  visitor.option("beta_2", options.beta_2);
}

class SignOfMomentum final : public Optimizer::Rule {
 public:
  explicit SignOfMomentum(const LionOptions& options) : options_(options) {
    require(0 < options.beta_1 && options.beta_1 <= 1, "the beta_1 of Lion must lie in (0, 1], got {}", options.beta_1);
    require(0 <= options.beta_2 && options.beta_2 <= 1, "the beta_2 of Lion must lie in [0, 1], got {}",
            options.beta_2);
  }

  ObjectConfig config() const override { return config_of("Lion", list, options_); }
  std::vector<Slot> slots() const override { return {{.name = "momentum"}}; }
  OptimizerStep step(float learning_rate, std::int64_t) const override {
    return element_rule(LionRule(learning_rate, options_));
  }

 private:
  LionOptions options_;
};

}  // namespace

Lion::Lion(const LionOptions& options, const OptimizerOptions& common)
    : Optimizer(options.learning_rate, std::make_unique<SignOfMomentum>(options), common) {}

Lion Lion::from_config(const OptimizerConfig& config) {
  return Lion(rule_options<LionOptions>(config, list), config.common);
}

}  // namespace lockstep
