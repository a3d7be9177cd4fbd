#pragma once

#include <lockstep/models/optimizers/optimizer.h>
#include <lockstep/runtime/core/defaults.h>

namespace lockstep {

/// Adagrad's options, by Keras' names.
struct AdagradOptions {
  /// A number or a schedule; not negative.
  LearningRate learning_rate = 0.001;
  double initial_accumulator_value = 0.1;  ///< finite, not negative
  double epsilon = 1e-7;                   ///< above 0
  void describe(OptionVisitor& visitor);   ///< writes or reads the options but learning_rate
};

/// The optimizer Adagrad (Duchi et al. 2011), equivalent to keras.optimizers.Adagrad; see AdagradStep for the formula.
struct Adagrad : Optimizer {
  /// Throws InvalidArgument for an option outside its range.
  explicit Adagrad(const AdagradOptions& options = {}, const OptimizerOptions& common = {});
  /// `Adagrad({})` uses the default options.
  explicit Adagrad(Defaults) : Adagrad() {}
};

}  // namespace lockstep
