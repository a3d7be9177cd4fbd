#include "lockstep/models/optimizers/adagrad.h"

#include <cmath>

#include <lockstep/models/optimizers/optimizer_config.h>
#include <lockstep/models/optimizers/rule.h>

namespace lockstep {
namespace {

class SumsOfSquares final : public Optimizer::Rule {
 public:
  explicit SumsOfSquares(const AdagradOptions& options) : options_(options) {
    require(std::isfinite(options.initial_accumulator_value) && options.initial_accumulator_value >= 0,
            "the initial_accumulator_value of Adagrad must be finite and not negative, got {}",
            options.initial_accumulator_value);
    require(options.epsilon > 0, "the epsilon of Adagrad must be positive, got {}", options.epsilon);
  }

  ObjectConfig config() const override { return config_of("Adagrad", options_); }
  std::vector<Slot> slots() const override {
    return {{.name = "accumulator", .start = static_cast<float>(options_.initial_accumulator_value)}};
  }
  OptimizerStep step(float learning_rate, std::int64_t) const override {
    return AdagradStep{.learning_rate = learning_rate, .epsilon = static_cast<float>(options_.epsilon)};
  }
  bool moves_without_gradient() const override { return false; }

 private:
  AdagradOptions options_;
};

}  // namespace

void AdagradOptions::describe(OptionVisitor& visitor) {
  visitor.option("initial_accumulator_value", initial_accumulator_value);
  visitor.option("epsilon", epsilon);
}

Adagrad::Adagrad(const AdagradOptions& options, const OptimizerOptions& common)
    : Optimizer(options.learning_rate, std::make_unique<SumsOfSquares>(options), common) {}

}  // namespace lockstep
