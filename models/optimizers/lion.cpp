#include "lockstep/models/optimizers/lion.h"

#include <lockstep/kernels/update/element_rule.h>
#include <lockstep/models/optimizers/optimizer_config.h>
#include <lockstep/models/optimizers/rule.h>

namespace lockstep {
namespace {

class SignOfMomentum final : public Optimizer::Rule {
 public:
  explicit SignOfMomentum(const LionOptions& options) : options_(options) {
    require(0 < options.beta_1 && options.beta_1 <= 1, "the beta_1 of Lion must lie in (0, 1], got {}", options.beta_1);
    require(0 <= options.beta_2 && options.beta_2 <= 1, "the beta_2 of Lion must lie in [0, 1], got {}",
            options.beta_2);
  }

  ObjectConfig config() const override { return config_of("Lion", options_); }
  std::vector<Slot> slots() const override { return {{.name = "momentum"}}; }
  OptimizerStep step(float learning_rate, std::int64_t) const override {
    return element_rule(LionRule(learning_rate, options_));
  }

 private:
  LionOptions options_;
};

}  // namespace

void LionOptions::describe(OptionVisitor& visitor) {
  visitor.option("beta_1", beta_1);
  visitor.option("beta_2", beta_2);
}

Lion::Lion(const LionOptions& options, const OptimizerOptions& common)
    : Optimizer(options.learning_rate, std::make_unique<SignOfMomentum>(options), common) {}

}  // namespace lockstep
