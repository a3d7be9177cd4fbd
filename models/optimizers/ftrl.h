#pragma once

#include <cmath>

#include <lockstep/kernels/update/rule_on_gpus.h>
#include <lockstep/models/optimizers/optimizer.h>
#include <lockstep/runtime/core/defaults.h>
#include <lockstep/runtime/core/host_device.h>

namespace lockstep {

/// Ftrl's options, by Keras' names.
struct FtrlOptions {
  /// A number or a schedule; not negative.
  LearningRate learning_rate = 0.001;
  double learning_rate_power = -0.5;                ///< finite, not above 0
  double initial_accumulator_value = 0.1;           ///< finite, not negative
  double l1_regularization_strength = 0;            ///< finite, not negative
  double l2_regularization_strength = 0;            ///< finite, not negative
  double l2_shrinkage_regularization_strength = 0;  ///< finite, not negative
  double beta = 0;                                  ///< finite, not negative
  void describe(OptionVisitor& visitor);            ///< writes or reads the options but learning_rate
};

/// Ftrl's formula for one element, with p = -learning_rate_power, the regularization strengths l1 and l2, and the
/// shrinkage strength s: b = a + g^2; z += g + 2 * s * w - (b^p - a^p) / learning_rate * w;
/// w = (clip(z, -l1, l1) - z) / (b^p / learning_rate + 2 * l2 + beta / learning_rate); a = b. Slots: a, z.
/// `square_root`: whether p is 0.5.
template <bool square_root>
struct FtrlRule {
  static constexpr int slots = 2;  ///< number of slots
  /// Computes the constants of a step.
  FtrlRule(float learning_rate, const FtrlOptions& options)
      : learning_rate(learning_rate),
        p(static_cast<float>(-options.learning_rate_power)),
        l1(static_cast<float>(options.l1_regularization_strength)),
        l2(static_cast<float>(2 * options.l2_regularization_strength + options.beta / learning_rate)),
        shrinkage(static_cast<float>(2 * options.l2_shrinkage_regularization_strength)) {}

  /// The new parameter; updates a and z.
  LOCKSTEP_HOST_DEVICE float operator()(float w, float gradient, float& a, float& z) const {
    const float b = a + gradient * gradient;
    const float power = to_the_p(b);
    z = z + (gradient + shrinkage * w - (power - to_the_p(a)) / learning_rate * w);
    a = b;
    const float above = z < -l1 ? -l1 : z;
    const float clipped = above > l1 ? l1 : above;
    return (clipped - z) / (power / learning_rate + l2);
  }

  /// x^p.
  LOCKSTEP_HOST_DEVICE float to_the_p(float x) const { return square_root ? std::sqrt(x) : std::pow(x, p); }

  float learning_rate;  ///< as in the formula
  float p;              ///< as in the formula
  float l1;             ///< as in the formula
  float l2;             ///< 2 * l2 + beta / learning_rate of the formula
  float shrinkage;      ///< 2 * s of the formula
};
LOCKSTEP_RULE_ON_GPUS(FtrlRule<true>)
LOCKSTEP_RULE_ON_GPUS(FtrlRule<false>)

/// The optimizer "follow the regularized leader" (McMahan et al. 2013), equivalent to keras.optimizers.Ftrl.
struct Ftrl : Optimizer {
  /// Throws InvalidArgument for an option outside its range.
  explicit Ftrl(const FtrlOptions& options = {}, const OptimizerOptions& common = {});
  /// `Ftrl({})` uses the default options.
  explicit Ftrl(Defaults) : Ftrl() {}
};

}  // namespace lockstep
