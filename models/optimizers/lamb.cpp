#include "lockstep/models/optimizers/lamb.h"

#include <lockstep/models/optimizers/optimizer_config.h>
#include <lockstep/models/optimizers/rule.h>

namespace lockstep {
namespace {

class LayerwiseMoments final : public Optimizer::Rule {
 public:
  explicit LayerwiseMoments(const LambOptions& options) : options_(options) { check_moments("Lamb", options); }

  ObjectConfig config() const override { return config_of("Lamb", options_); }
  std::vector<Slot> slots() const override {
    return {{.name = "momentum"}, {.name = "velocity", .beside_previous = true}};
  }
  OptimizerStep step(float, std::int64_t t) const override {
    return LambDirectionStep{
        .beta_1 = options_.beta_1, .beta_2 = options_.beta_2, .epsilon = static_cast<float>(options_.epsilon), .t = t};
  }
  bool scales_by_norms() const override { return true; }

 private:
  LambOptions options_;
};

}  // namespace

void LambOptions::describe(OptionVisitor& visitor) { list_moments(visitor, *this); }

Lamb::Lamb(const LambOptions& options, const OptimizerOptions& common)
    : Optimizer(options.learning_rate, std::make_unique<LayerwiseMoments>(options), common) {}

}  // namespace lockstep
