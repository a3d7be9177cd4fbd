#pragma once

#include <lockstep/models/optimizers/optimizer.h>
#include <lockstep/runtime/core/defaults.h>

namespace lockstep {

/// Lamb's options, by Keras' names.
struct LambOptions {
  /// A number or a schedule; not negative.
  LearningRate learning_rate = 0.001;
  double beta_1 = 0.9;                    ///< in [0, 1)
  double beta_2 = 0.999;                  ///< in [0, 1)
  double epsilon = 1e-7;                  ///< above 0
  void describe(OptionVisitor& visitor);  ///< writes or reads the options but learning_rate
};

/// Adam for large batches (You et al. 2020), equivalent to keras.optimizers.Lamb. w -= learning_rate * |w| / |d| * d,
/// where d is the direction of LambDirectionStep and the trust ratio |w| / |d| is 1 if |w| or |d| is 0.
struct Lamb : Optimizer {
  /// Throws InvalidArgument for an option outside its range.
  explicit Lamb(const LambOptions& options = {}, const OptimizerOptions& common = {});
  /// `Lamb({})` uses the default options.
  explicit Lamb(Defaults) : Lamb() {}
};

}  // namespace lockstep
