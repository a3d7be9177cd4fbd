#pragma once

#include <lockstep/models/optimizers/optimizer.h>
#include <lockstep/runtime/core/defaults.h>

namespace lockstep {

/// SGD's options, by Keras' names.
struct SgdOptions {
  /// A number or a schedule; not negative.
  LearningRate learning_rate = 0.01;
  double momentum = 0;  ///< in [0, 1]
  /// Uses Nesterov's momentum.
  bool nesterov = false;
  void describe(OptionVisitor& visitor);  ///< writes or reads the options but learning_rate
};

/// Gradient descent with momentum, equivalent to keras.optimizers.SGD; see SgdStep for the formula.
struct SGD : Optimizer {
  /// Throws InvalidArgument for an option outside its range.
  explicit SGD(const SgdOptions& options = {}, const OptimizerOptions& common = {});
  /// `SGD({})` uses the default options.
  explicit SGD(Defaults) : SGD() {}
};

}  // namespace lockstep
