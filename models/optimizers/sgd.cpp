#include <lockstep/kernels/backend.h>
#include <lockstep/models/optimizers/rule.h>
#include <lockstep/models/optimizers/sgd.h>

namespace lockstep {
namespace {

class Descent final : public Optimizer::Rule {
 public:
  explicit Descent(const SgdOptions& options) : options_(options) {
    require(0 <= options.momentum && options.momentum <= 1, "the momentum of SGD must lie in [0, 1], got {}",
            options.momentum);
    require(options.weight_decay >= 0, "the weight decay must not be negative, got {}", options.weight_decay);
  }

  int state_slots() const override { return static_cast<float>(options_.momentum) == 0.0F ? 0 : 1; }
  bool moves_without_gradient() const override { return options_.momentum != 0 || options_.weight_decay != 0; }

  UpdateFn step(double learning_rate, std::int64_t) const override {
    const SgdStep step{.learning_rate = static_cast<float>(learning_rate),
                       .momentum = static_cast<float>(options_.momentum),
                       .nesterov = options_.nesterov,
                       .weight_decay = static_cast<float>(options_.weight_decay)};
    return [step](const UpdateViews& views) { current_backend().update(step, views); };
  }

 private:
  SgdOptions options_;
};

}  // namespace

SGD::SGD(const SgdOptions& options) : Optimizer(options.learning_rate, std::make_unique<Descent>(options)) {}

}  // namespace lockstep
