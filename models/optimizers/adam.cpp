#include "lockstep/models/optimizers/adam.h"

#include <utility>

#include <lockstep/models/optimizers/optimizer_config.h>
#include <lockstep/models/optimizers/rule.h>

namespace lockstep {
namespace {

class AdaptiveMoments final : public Optimizer::Rule {
 public:
  AdaptiveMoments(const char* class_name, const AdamOptions& options) : class_name_(class_name), options_(options) {
    check_moments("Adam", options);
  }

  ObjectConfig config() const override { return config_of(class_name_, options_); }
  std::vector<Slot> slots() const override {
    std::vector<Slot> slots{{.name = "momentum"}, {.name = "velocity", .beside_previous = true}};
    if (options_.amsgrad) slots.push_back({.name = "velocity_hat"});
    return slots;
  }
  OptimizerStep step(float learning_rate, std::int64_t t) const override {
    return AdamStep{.learning_rate = learning_rate,
                    .beta_1 = options_.beta_1,
                    .beta_2 = options_.beta_2,
                    .epsilon = static_cast<float>(options_.epsilon),
                    .amsgrad = options_.amsgrad,
                    .t = t};
  }

 private:
  const char* class_name_;
  AdamOptions options_;
};

}  // namespace

void AdamOptions::describe(OptionVisitor& visitor) {
  list_moments(visitor, *this);
  visitor.option("amsgrad", amsgrad);
}

Adam::Adam(const AdamOptions& options, const OptimizerOptions& common)
    : Optimizer(options.learning_rate, std::make_unique<AdaptiveMoments>("Adam", options), common) {}

AdamW::AdamW(const AdamWOptions& options, const OptimizerOptions& common)
    : Optimizer(options.learning_rate,
                std::make_unique<AdaptiveMoments>("AdamW", AdamOptions{.learning_rate = options.learning_rate,
                                                                       .beta_1 = options.beta_1,
                                                                       .beta_2 = options.beta_2,
                                                                       .epsilon = options.epsilon,
                                                                       .amsgrad = options.amsgrad}),
                with_own_decay("AdamW", common, options.weight_decay)) {}

AdamW AdamW::from_config(const OptimizerConfig& config) {
  const AdamOptions options = read_options<AdamOptions>(config);
  OptimizerOptions common = config.common;
  return AdamW({.learning_rate = options.learning_rate,
                .weight_decay = std::exchange(common.weight_decay, 0),
                .beta_1 = options.beta_1,
                .beta_2 = options.beta_2,
                .epsilon = options.epsilon,
                .amsgrad = options.amsgrad},
               common);
}

}  // namespace lockstep
