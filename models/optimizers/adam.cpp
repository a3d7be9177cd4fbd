#include <lockstep/kernels/backend.h>
#include <lockstep/models/optimizers/adam.h>
#include <lockstep/models/optimizers/rule.h>

namespace lockstep {
namespace {

class AdaptiveMoments final : public Optimizer::Rule {
 public:
  explicit AdaptiveMoments(const AdamOptions& options) : options_(options) {
    require(0 <= options.beta_1 && options.beta_1 < 1 && 0 <= options.beta_2 && options.beta_2 < 1,
            "the betas of Adam must lie in [0, 1), got {} and {}", options.beta_1, options.beta_2);
    require(options.epsilon > 0, "the epsilon of Adam must be positive, got {}", options.epsilon);
  }

  int state_slots() const override { return 2; }
  bool moves_without_gradient() const override { return true; }

  UpdateFn step(double learning_rate, std::int64_t t) const override {
    const AdamStep step{.learning_rate = static_cast<float>(learning_rate),
                        .beta_1 = options_.beta_1,
                        .beta_2 = options_.beta_2,
                        .epsilon = static_cast<float>(options_.epsilon),
                        .t = t};
    return [step](const UpdateViews& views) { current_backend().update(step, views); };
  }

 private:
  AdamOptions options_;
};

}  // namespace

Adam::Adam(const AdamOptions& options) : Optimizer(options.learning_rate, std::make_unique<AdaptiveMoments>(options)) {}

}  // namespace lockstep
