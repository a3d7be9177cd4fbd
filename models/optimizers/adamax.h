#pragma once

#include <cmath>
#include <cstdint>

#include <lockstep/kernels/update/rule_on_gpus.h>
#include <lockstep/models/optimizers/optimizer.h>
#include <lockstep/runtime/core/defaults.h>
#include <lockstep/runtime/core/host_device.h>

namespace lockstep {

/// Adamax's options, by Keras' names.
struct AdamaxOptions {
  /// A number or a schedule; not negative.
  LearningRate learning_rate = 0.001;
  double beta_1 = 0.9;                    ///< in [0, 1)
  double beta_2 = 0.999;                  ///< in [0, 1)
  double epsilon = 1e-7;                  ///< above 0
  void describe(OptionVisitor& visitor);  ///< writes or reads the options but learning_rate
};

/// Adamax's formula for one element: m += (1 - beta_1) * (g - m); u = max(beta_2 * u, |g|);
/// w -= learning_rate / (1 - beta_1^t) * m / (u + epsilon). Slots: m, u.
struct AdamaxRule {
  static constexpr int slots = 2;  ///< number of slots
  /// Computes the constants of update t, counted from 1.
  AdamaxRule(float learning_rate, const AdamaxOptions& options, std::int64_t t)
      : alpha(static_cast<float>(learning_rate / (1 - std::pow(options.beta_1, static_cast<double>(t))))),
        rest_1(static_cast<float>(1 - options.beta_1)),
        beta_2(static_cast<float>(options.beta_2)),
        epsilon(static_cast<float>(options.epsilon)) {}

  /// The new parameter; updates m and u.
  LOCKSTEP_HOST_DEVICE float operator()(float w, float gradient, float& m, float& u) const {
    m = m + (gradient - m) * rest_1;
    const float decayed = beta_2 * u;
    const float size = std::fabs(gradient);
    u = decayed > size ? decayed : size;
    return w - alpha * m / (u + epsilon);
  }

  float alpha;    ///< the learning rate with the bias correction
  float rest_1;   ///< 1 - beta_1
  float beta_2;   ///< as in the formula
  float epsilon;  ///< as in the formula
};
LOCKSTEP_RULE_ON_GPUS(AdamaxRule)

/// Adam with the maximum of past gradients (Kingma and Ba 2015), equivalent to keras.optimizers.Adamax.
struct Adamax : Optimizer {
  /// Throws InvalidArgument for an option outside its range.
  explicit Adamax(const AdamaxOptions& options = {}, const OptimizerOptions& common = {});
  /// `Adamax({})` uses the default options.
  explicit Adamax(Defaults) : Adamax() {}
};

}  // namespace lockstep
