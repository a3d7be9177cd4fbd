#pragma once

#include <lockstep/models/optimizers/optimizer.h>
#include <lockstep/runtime/core/defaults.h>

namespace lockstep {

/// SGD's options, by Keras' names.
struct SgdOptions {
  /// Not negative.
  LearningRate learning_rate = 0.01;
  double momentum = 0;  ///< in [0, 1]
  /// Nesterov's momentum.
  bool nesterov = false;
};

/// Gradient descent with momentum, as keras.optimizers.SGD; the formula stands at SgdStep.
struct SGD : Optimizer {
  /// Throws InvalidArgument for a value out of its range.
  explicit SGD(const SgdOptions& options = {}, const OptimizerOptions& common = {});
  /// Of all defaults: SGD({}).
  explicit SGD(Defaults) : SGD() {}
  /// Of the options of a file.
  static SGD from_config(const OptimizerConfig& config);
};

}  // namespace lockstep
