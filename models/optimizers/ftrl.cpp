#include "lockstep/models/optimizers/ftrl.h"

#include <cmath>

#include <lockstep/kernels/update/element_rule.h>
#include <lockstep/models/optimizers/optimizer_config.h>
#include <lockstep/models/optimizers/rule.h>

namespace lockstep {
namespace {

class RegularizedLeader final : public Optimizer::Rule {
 public:
  explicit RegularizedLeader(const FtrlOptions& options) : options_(options) {
    require(std::isfinite(options.learning_rate_power) && options.learning_rate_power <= 0,
            "the learning_rate_power of Ftrl must be finite and not above 0, got {}", options.learning_rate_power);
    const std::pair<const char*, double> others[] = {
        {"initial_accumulator_value", options.initial_accumulator_value},
        {"l1_regularization_strength", options.l1_regularization_strength},
        {"l2_regularization_strength", options.l2_regularization_strength},
        {"l2_shrinkage_regularization_strength", options.l2_shrinkage_regularization_strength},
        {"beta", options.beta}};
    for (const auto& [name, value] : others)
      require(std::isfinite(value) && value >= 0, "the {} of Ftrl must be finite and not negative, got {}", name,
              value);
  }

  ObjectConfig config() const override { return config_of("Ftrl", options_); }
  std::vector<Slot> slots() const override {
    return {{.name = "accumulator", .start = static_cast<float>(options_.initial_accumulator_value)},
            {.name = "linear", .beside_previous = true}};
  }
  OptimizerStep step(float learning_rate, std::int64_t) const override {
    if (options_.learning_rate_power == -0.5) return element_rule(FtrlRule<true>(learning_rate, options_));
    return element_rule(FtrlRule<false>(learning_rate, options_));
  }

 private:
  FtrlOptions options_;
};

}  // namespace

void FtrlOptions::describe(OptionVisitor& visitor) {
  visitor.option("learning_rate_power", learning_rate_power);
  visitor.option("initial_accumulator_value", initial_accumulator_value);
  visitor.option("l1_regularization_strength", l1_regularization_strength);
  visitor.option("l2_regularization_strength", l2_regularization_strength);
  visitor.option("l2_shrinkage_regularization_strength", l2_shrinkage_regularization_strength);
  visitor.option("beta", beta);
}

Ftrl::Ftrl(const FtrlOptions& options, const OptimizerOptions& common)
    : Optimizer(options.learning_rate, std::make_unique<RegularizedLeader>(options), common) {}

}  // namespace lockstep
