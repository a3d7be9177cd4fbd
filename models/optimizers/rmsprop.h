#pragma once

#include <lockstep/models/optimizers/optimizer.h>
#include <lockstep/runtime/core/defaults.h>

namespace lockstep {

/// RMSprop's options, by Keras' names.
struct RmspropOptions {
  /// A number or a schedule; not negative.
  LearningRate learning_rate = 0.001;
  double rho = 0.9;                       ///< decay of the average of squared gradients, in [0, 1)
  double momentum = 0;                    ///< in [0, 1]
  double epsilon = 1e-7;                  ///< above 0
  bool centered = false;                  ///< normalizes by the gradient's variance instead of its mean square
  void describe(OptionVisitor& visitor);  ///< writes or reads the options but learning_rate
};

/// Hinton's RMSprop, equivalent to keras.optimizers.RMSprop; see RmspropStep for the formula.
struct RMSprop : Optimizer {
  /// Throws InvalidArgument for an option outside its range.
  explicit RMSprop(const RmspropOptions& options = {}, const OptimizerOptions& common = {});
  /// `RMSprop({})` uses the default options.
  explicit RMSprop(Defaults) : RMSprop() {}
};

}  // namespace lockstep
