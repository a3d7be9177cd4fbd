#pragma once

#include <lockstep/kernels/update/rule_on_gpus.h>
#include <lockstep/models/optimizers/optimizer.h>
#include <lockstep/runtime/core/defaults.h>
#include <lockstep/runtime/core/host_device.h>

namespace lockstep {

/// Lion's options, by Keras' names.
struct LionOptions {
  /// A number or a schedule; not negative.
  LearningRate learning_rate = 0.001;
  double beta_1 = 0.9;                    ///< in (0, 1]
  double beta_2 = 0.99;                   ///< in [0, 1]
  void describe(OptionVisitor& visitor);  ///< writes or reads the options but learning_rate
};

/// Lion's formula for one element: w -= learning_rate * sign(beta_1 * m + (1 - beta_1) * g), then
/// m = beta_2 * m + (1 - beta_2) * g. Slot: m.
struct LionRule {
  static constexpr int slots = 1;  ///< number of slots
  /// Computes the constants of a step.
  LionRule(float learning_rate, const LionOptions& options)
      : learning_rate(learning_rate),
        beta_1(static_cast<float>(options.beta_1)),
        rest_1(static_cast<float>(1 - options.beta_1)),
        beta_2(static_cast<float>(options.beta_2)),
        rest_2(static_cast<float>(1 - options.beta_2)) {}

  /// The new parameter; updates m.
  LOCKSTEP_HOST_DEVICE float operator()(float w, float gradient, float& m) const {
    const float direction = m * beta_1 + gradient * rest_1;
    m = m * beta_2 + gradient * rest_2;
    const float down = direction < 0 ? -1.0F : direction;  // NaN stays NaN
    return w - learning_rate * (down > 0 ? 1.0F : down);
  }

  ///@{
  /// Symbols of the formula; rest_1 and rest_2 are 1 - beta_1 and 1 - beta_2.
  float learning_rate, beta_1, rest_1, beta_2, rest_2;
  ///@}
};
LOCKSTEP_RULE_ON_GPUS(LionRule)

/// The optimizer Lion (Chen et al. 2023), equivalent to keras.optimizers.Lion.
struct Lion : Optimizer {
  /// Throws InvalidArgument for an option outside its range.
  explicit Lion(const LionOptions& options = {}, const OptimizerOptions& common = {});
  /// `Lion({})` uses the default options.
  explicit Lion(Defaults) : Lion() {}
};

}  // namespace lockstep
