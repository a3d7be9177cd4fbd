#include "lockstep/models/optimizers/adafactor.h"

#include <algorithm>
#include <cmath>

#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/array/elementwise.h>
#include <lockstep/kernels/array/shapes.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/models/optimizers/optimizer_config.h>
#include <lockstep/models/optimizers/rule.h>

namespace lockstep {
namespace {

Tensor root_mean_square(const Tensor& x) { return sqrt(mean(square(x))); }

class FactoredAverages final : public Optimizer::Rule {
 public:
  explicit FactoredAverages(const AdafactorOptions& options) : options_(options) {
    require(options.beta_2_decay <= 0, "the beta_2_decay of Adafactor must not be positive, got {}",
            options.beta_2_decay);
    require(std::isfinite(options.epsilon_1) && options.epsilon_1 > 0,
            "the epsilon_1 of Adafactor must be finite and positive, got {}", options.epsilon_1);
    require(std::isfinite(options.epsilon_2) && options.epsilon_2 >= 0,
            "the epsilon_2 of Adafactor must be finite and not negative, got {}", options.epsilon_2);
    require(options.clip_threshold > 0, "the clip_threshold of Adafactor must be positive, got {}",
            options.clip_threshold);
  }

  ObjectConfig config() const override { return config_of("Adafactor", options_); }
  std::vector<Slot> slots() const override {
    return {{.name = "r", .left_out_axis = -1},
            {.name = "c", .beside_previous = true, .left_out_axis = -2},
            {.name = "velocity", .beside_previous = true}};
  }
  bool keeps(const Slot& slot, const Variable& variable) const override {
    return slot.name == "velocity" || variable.shape().rank() >= 2;
  }

  bool computes_variables() const override { return true; }
  void compute(VariableStep& step) const override {
    const auto t = static_cast<double>(step.t);
    const double share = std::pow(t, options_.beta_2_decay);  // the weight of this step in the averages
    const Tensor squares = square(step.gradient) + options_.epsilon_1;
    const auto average = [&](const Tensor& before, const Tensor& now) { return before * (1 - share) + now * share; };
    Tensor& velocity = step.slots[2];
    if (step.keeps[0]) {
      for (int axis : {-1, -2}) {
        Tensor& slot = step.slots[static_cast<std::size_t>(-axis - 1)];
        slot = broadcast_to(average(slice(slot, axis, 0, 1), mean(squares, {axis}, true)), squares.shape());
      }
      velocity = step.slots[0] / mean(step.slots[0], {-2}, true) * step.slots[1];
    } else {
      velocity = average(velocity, squares);
    }
    const Tensor direction = step.gradient / sqrt(velocity);
    const Tensor clipped = direction / maximum(root_mean_square(direction) / options_.clip_threshold, 1);
    const Tensor size = maximum(root_mean_square(step.value), options_.epsilon_2);
    step.value = step.value - clipped * (size * std::min(step.learning_rate, 1 / std::sqrt(t)));
  }

 private:
  AdafactorOptions options_;
};

}  // namespace

void AdafactorOptions::describe(OptionVisitor& visitor) {
  visitor.option("beta_2_decay", beta_2_decay);
  visitor.option("epsilon_1", epsilon_1);
  visitor.option("epsilon_2", epsilon_2);
  visitor.option("clip_threshold", clip_threshold);
  visitor.passed_over("relative_step");
}

Adafactor::Adafactor(const AdafactorOptions& options, const OptimizerOptions& common)
    : Optimizer(options.learning_rate, std::make_unique<FactoredAverages>(options), common) {}

}  // namespace lockstep
