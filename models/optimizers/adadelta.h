#pragma once

#include <cmath>

#include <lockstep/kernels/update/rule_on_gpus.h>
#include <lockstep/models/optimizers/optimizer.h>
#include <lockstep/runtime/core/defaults.h>
#include <lockstep/runtime/core/host_device.h>

namespace lockstep {

/// Adadelta's options, by Keras' names.
struct AdadeltaOptions {
  /// A number or a schedule; not negative.
  LearningRate learning_rate = 0.001;
  double rho = 0.95;                      ///< in [0, 1)
  double epsilon = 1e-7;                  ///< above 0
  void describe(OptionVisitor& visitor);  ///< writes or reads the options but learning_rate
};

/// Adadelta's formula for one element: a = rho * a + (1 - rho) * g^2; d = sqrt(x + epsilon) / sqrt(a + epsilon) * g;
/// x = rho * x + (1 - rho) * d^2; w -= learning_rate * d. Slots: a, x.
struct AdadeltaRule {
  static constexpr int slots = 2;  ///< number of slots
  /// Computes the constants of a step.
  AdadeltaRule(float learning_rate, const AdadeltaOptions& options)
      : learning_rate(learning_rate),
        rho(static_cast<float>(options.rho)),
        rest(static_cast<float>(1 - options.rho)),
        epsilon(static_cast<float>(options.epsilon)) {}

  /// The new parameter; updates a and x.
  LOCKSTEP_HOST_DEVICE float operator()(float w, float gradient, float& a, float& x) const {
    a = rho * a + rest * (gradient * gradient);
    const float moved = std::sqrt(x + epsilon) * gradient / std::sqrt(a + epsilon);
    x = rho * x + rest * (moved * moved);
    return w - learning_rate * moved;
  }

  ///@{
  /// Symbols of the formula; rest is 1 - rho.
  float learning_rate, rho, rest, epsilon;
  ///@}
};
LOCKSTEP_RULE_ON_GPUS(AdadeltaRule)

/// The optimizer Adadelta (Zeiler 2012), equivalent to keras.optimizers.Adadelta.
struct Adadelta : Optimizer {
  /// Throws InvalidArgument for an option outside its range.
  explicit Adadelta(const AdadeltaOptions& options = {}, const OptimizerOptions& common = {});
  /// `Adadelta({})` uses the default options.
  explicit Adadelta(Defaults) : Adadelta() {}
};

}  // namespace lockstep
