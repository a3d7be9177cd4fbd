#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include <lockstep/kernels/update/moments.h>
#include <lockstep/kernels/update/rule_on_gpus.h>
#include <lockstep/models/optimizers/optimizer.h>
#include <lockstep/runtime/core/defaults.h>
#include <lockstep/runtime/core/host_device.h>

namespace lockstep {

/// Nadam's options, by Keras' names.
struct NadamOptions {
  /// A number or a schedule; not negative.
  LearningRate learning_rate = 0.001;
  double beta_1 = 0.9;                    ///< in [0, 1)
  double beta_2 = 0.999;                  ///< in [0, 1)
  double epsilon = 1e-7;                  ///< above 0
  void describe(OptionVisitor& visitor);  ///< writes or reads the options but learning_rate
};

/// Nadam's formula for one element. g is the gradient, m and v are Adam's moments, u_i = beta_1 * (1 - 0.96^i / 2), and
/// p_t is the product of u_1 to u_t. d = u_(t+1) * m / (1 - p_(t+1)) + (1 - u_t) * g / (1 - p_t); w -= learning_rate *
/// d / (sqrt(v / (1 - beta_2^t)) + epsilon). Slots: m, v.
struct NadamRule {
  static constexpr int slots = 2;  ///< number of slots
  /// Computes the constants of update t, counted from 1.
  NadamRule(float learning_rate, const NadamOptions& options, std::int64_t t);

  /// The new parameter; updates m and v.
  LOCKSTEP_HOST_DEVICE float operator()(float w, float gradient, float& m, float& v) const {
    moments.add(gradient, m, v);
    return w - (m * of_moment + gradient * of_gradient) / (std::sqrt(v / correction_2) + epsilon);
  }

  float of_moment;     ///< learning_rate * u_(t+1) / (1 - p_(t+1))
  float of_gradient;   ///< learning_rate * (1 - u_t) / (1 - p_t)
  float correction_2;  ///< 1 - beta_2^t
  float epsilon;       ///< as in the formula
  Moments moments;     ///< updates m and v
};
LOCKSTEP_RULE_ON_GPUS(NadamRule)

/// Adam with Nesterov momentum (Dozat 2016), equivalent to keras.optimizers.Nadam.
struct Nadam : Optimizer {
  /// Throws InvalidArgument for an option outside its range.
  explicit Nadam(const NadamOptions& options = {}, const OptimizerOptions& common = {});
  /// `Nadam({})` uses the default options.
  explicit Nadam(Defaults) : Nadam() {}
};

}  // namespace lockstep
