#include "lockstep/models/optimizers/adamax.h"

#include <lockstep/kernels/update/element_rule.h>
#include <lockstep/models/optimizers/optimizer_config.h>
#include <lockstep/models/optimizers/rule.h>

namespace lockstep {
namespace {

class InfinityNorms final : public Optimizer::Rule {
 public:
  explicit InfinityNorms(const AdamaxOptions& options) : options_(options) { check_moments("Adamax", options); }

  ObjectConfig config() const override { return config_of("Adamax", options_); }
  std::vector<Slot> slots() const override { return {{.name = "momentum"}, {.name = "norm", .beside_previous = true}}; }
  OptimizerStep step(float learning_rate, std::int64_t t) const override {
    return element_rule(AdamaxRule(learning_rate, options_, t));
  }

 private:
  AdamaxOptions options_;
};

}  // namespace

void AdamaxOptions::describe(OptionVisitor& visitor) { list_moments(visitor, *this); }

Adamax::Adamax(const AdamaxOptions& options, const OptimizerOptions& common)
    : Optimizer(options.learning_rate, std::make_unique<InfinityNorms>(options), common) {}

}  // namespace lockstep
