#pragma once

#include <lockstep/models/optimizers/optimizer.h>
#include <lockstep/runtime/core/defaults.h>

namespace lockstep {

/// Adafactor's options, by Keras' names. Keras' `relative_step` is left out, because Keras limits the rate of update t
/// to 1 / sqrt(t) with and without it.
struct AdafactorOptions {
  /// A number or a schedule; not negative.
  LearningRate learning_rate = 0.001;
  double beta_2_decay = -0.8;   ///< the averages' momentum in update t is 1 - t^beta_2_decay; not positive
  double epsilon_1 = 1e-30;     ///< added to squared gradients; finite, above 0
  double epsilon_2 = 1e-3;      ///< lower bound of a variable's root mean square for its step size; finite, at least 0
  double clip_threshold = 1.0;  ///< largest root mean square of a direction; above 0
  void describe(OptionVisitor& visitor);  ///< writes or reads the options but learning_rate
};

/// The optimizer Adafactor (Shazeer and Stern 2018), equivalent to keras.optimizers.Adafactor. A variable moves against
/// its gradient, divided by the square root of a moving average of squared gradients. The step size is proportional to
/// the variable's root mean square. For a variable with at least two axes, the average is computed from averages along
/// each of the last two axes.
struct Adafactor : Optimizer {
  /// Throws InvalidArgument for an option outside its range.
  explicit Adafactor(const AdafactorOptions& options = {}, const OptimizerOptions& common = {});
  /// `Adafactor({})` uses the default options.
  explicit Adafactor(Defaults) : Adafactor() {}
};

}  // namespace lockstep
