#include <lockstep/models/optimizers/adagrad.h>
#include <lockstep/models/optimizers/rule.h>

namespace lockstep {
namespace {

class SumsOfSquares final : public Optimizer::Rule {
 public:
  explicit SumsOfSquares(const AdagradOptions& options)
      : start_(static_cast<float>(options.initial_accumulator_value)), epsilon_(static_cast<float>(options.epsilon)) {
    require(options.initial_accumulator_value >= 0, "the accumulators of Adagrad cannot start at {}, below 0",
            options.initial_accumulator_value);
    require(options.epsilon > 0, "the epsilon of Adagrad must be positive, got {}", options.epsilon);
  }

  std::vector<Slot> slots() const override { return {{.name = "accumulator", .start = start_}}; }
  OptimizerStep step(float learning_rate, std::int64_t) const override {
    return AdagradStep{.learning_rate = learning_rate, .epsilon = epsilon_};
  }
  bool moves_without_gradient() const override { return false; }

 private:
  float start_;
  float epsilon_;
};

}  // namespace

Adagrad::Adagrad(const AdagradOptions& options, const OptimizerOptions& common)
    : Optimizer(options.learning_rate, std::make_unique<SumsOfSquares>(options), common) {}

}  // namespace lockstep
