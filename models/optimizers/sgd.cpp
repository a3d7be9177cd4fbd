#include "lockstep/models/optimizers/sgd.h"

#include <lockstep/models/optimizers/optimizer_config.h>
#include <lockstep/models/optimizers/rule.h>

namespace lockstep {
namespace {

class Descent final : public Optimizer::Rule {
 public:
  explicit Descent(const SgdOptions& options) : options_(options), momentum_(static_cast<float>(options.momentum)) {
    require(0 <= options.momentum && options.momentum <= 1, "the momentum of SGD must lie in [0, 1], got {}",
            options.momentum);
  }

  ObjectConfig config() const override { return config_of("SGD", options_); }
  std::vector<Slot> slots() const override {
    if (momentum_ == 0.0F) return {};
    return {{.name = "momentum"}};
  }
  OptimizerStep step(float learning_rate, std::int64_t) const override {
    return SgdStep{.learning_rate = learning_rate, .momentum = momentum_, .nesterov = options_.nesterov};
  }
  bool moves_without_gradient() const override { return momentum_ != 0.0F; }

 private:
  SgdOptions options_;
  float momentum_;
};

}  // namespace

void SgdOptions::describe(OptionVisitor& visitor) {
  visitor.option("momentum", momentum);
  visitor.option("nesterov", nesterov);
}

SGD::SGD(const SgdOptions& options, const OptimizerOptions& common)
    : Optimizer(options.learning_rate, std::make_unique<Descent>(options), common) {}

}  // namespace lockstep
