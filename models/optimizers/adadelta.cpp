#include "lockstep/models/optimizers/adadelta.h"

#include <lockstep/kernels/update/element_rule.h>
#include <lockstep/models/optimizers/optimizer_config.h>
#include <lockstep/models/optimizers/rule.h>

namespace lockstep {
namespace {

class MeanSquaresOfSteps final : public Optimizer::Rule {
 public:
  explicit MeanSquaresOfSteps(const AdadeltaOptions& options) : options_(options) {
    require(0 <= options.rho && options.rho < 1, "the rho of Adadelta must lie in [0, 1), got {}", options.rho);
    require(options.epsilon > 0, "the epsilon of Adadelta must be positive, got {}", options.epsilon);
  }

  ObjectConfig config() const override { return config_of("Adadelta", options_); }
  std::vector<Slot> slots() const override {
    return {{.name = "accumulated_grad"}, {.name = "accumulated_delta_var", .beside_previous = true}};
  }
  OptimizerStep step(float learning_rate, std::int64_t) const override {
    return element_rule(AdadeltaRule(learning_rate, options_));
  }

 private:
  AdadeltaOptions options_;
};

}  // namespace

void AdadeltaOptions::describe(OptionVisitor& visitor) {
  visitor.option("rho", rho);
  visitor.option("epsilon", epsilon);
}

Adadelta::Adadelta(const AdadeltaOptions& options, const OptimizerOptions& common)
    : Optimizer(options.learning_rate, std::make_unique<MeanSquaresOfSteps>(options), common) {}

}  // namespace lockstep
