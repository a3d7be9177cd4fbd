#include "lockstep/models/optimizers/adamax.h"

#include <lockstep/kernels/update/element_rule.h>
#include <lockstep/models/optimizers/optimizer_config.h>
#include <lockstep/models/optimizers/rule.h>

namespace lockstep {
namespace {

void list(OptionVisitor& visitor, AdamaxOptions& options) {
  visitor.option("beta_1", options.beta_1);
  visitor.option("beta_2", options.beta_2);
  visitor.option("epsilon", options.epsilon);
}

class InfinityNorms final : public Optimizer::Rule {
 public:
  explicit InfinityNorms(const AdamaxOptions& options) : options_(options) {
    require(0 <= options.beta_1 && options.beta_1 < 1 && 0 <= options.beta_2 && options.beta_2 < 1,
            "the betas of Adamax must lie in [0, 1), got {} and {}", options.beta_1, options.beta_2);
    require(options.epsilon > 0, "the epsilon of Adamax must be positive, got {}", options.epsilon);
  }

  ObjectConfig config() const override { return config_of("Adamax", list, options_); }
  std::vector<Slot> slots() const override { return {{.name = "momentum"}, {.name = "norm", .beside_previous = true}}; }
  OptimizerStep step(float learning_rate, std::int64_t t) const override {
    return element_rule(AdamaxRule(learning_rate, options_, t));
  }

 private:
  AdamaxOptions options_;
};

}  // namespace

Adamax::Adamax(const AdamaxOptions& options, const OptimizerOptions& common)
    : Optimizer(options.learning_rate, std::make_unique<InfinityNorms>(options), common) {}

Adamax Adamax::from_config(const OptimizerConfig& config) {
  return Adamax(rule_options<AdamaxOptions>(config, list), config.common);
}

}  // namespace lockstep
