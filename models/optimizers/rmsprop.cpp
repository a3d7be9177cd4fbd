#include "lockstep/models/optimizers/rmsprop.h"

#include <lockstep/models/optimizers/optimizer_config.h>
#include <lockstep/models/optimizers/rule.h>

namespace lockstep {
namespace {

class MeanSquares final : public Optimizer::Rule {
 public:
  explicit MeanSquares(const RmspropOptions& options) : options_(options) {
    require(0 <= options.rho && options.rho < 1, "the rho of RMSprop must lie in [0, 1), got {}", options.rho);
    require(0 <= options.momentum && options.momentum <= 1, "the momentum of RMSprop must lie in [0, 1], got {}",
            options.momentum);
    require(options.epsilon > 0, "the epsilon of RMSprop must be positive, got {}", options.epsilon);
  }

  ObjectConfig config() const override { return config_of("RMSprop", options_); }
  std::vector<Slot> slots() const override {
    std::vector<Slot> slots{{.name = "velocity"}};
    if (static_cast<float>(options_.momentum) != 0.0F) slots.push_back({.name = "momentum"});
    if (options_.centered) slots.push_back({.name = "average_gradient"});
    return slots;
  }
  OptimizerStep step(float learning_rate, std::int64_t) const override {
    return RmspropStep{.learning_rate = learning_rate,
                       .rho = options_.rho,
                       .momentum = static_cast<float>(options_.momentum),
                       .epsilon = static_cast<float>(options_.epsilon),
                       .centered = options_.centered};
  }

 private:
  RmspropOptions options_;
};

}  // namespace

void RmspropOptions::describe(OptionVisitor& visitor) {
  visitor.option("rho", rho);
  visitor.option("momentum", momentum);
  visitor.option("epsilon", epsilon);
  visitor.option("centered", centered);
}

RMSprop::RMSprop(const RmspropOptions& options, const OptimizerOptions& common)
    : Optimizer(options.learning_rate, std::make_unique<MeanSquares>(options), common) {}

}  // namespace lockstep
