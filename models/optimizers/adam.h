#pragma once

#include <lockstep/models/optimizers/optimizer.h>
#include <lockstep/runtime/core/defaults.h>

namespace lockstep {

/// Adam's options, by Keras' names.
struct AdamOptions {
  /// A number or a schedule; not negative.
  LearningRate learning_rate = 0.001;
  double beta_1 = 0.9;                    ///< in [0, 1)
  double beta_2 = 0.999;                  ///< in [0, 1)
  double epsilon = 1e-7;                  ///< above 0
  bool amsgrad = false;                   ///< uses the maximum of past second moments
  void describe(OptionVisitor& visitor);  ///< writes or reads the options but learning_rate
};

/// The optimizer Adam (Kingma and Ba 2015), equivalent to keras.optimizers.Adam; see AdamStep for the formula.
struct Adam : Optimizer {
  /// Throws InvalidArgument for an option outside its range.
  explicit Adam(const AdamOptions& options = {}, const OptimizerOptions& common = {});
  /// `Adam({})` uses the default options.
  explicit Adam(Defaults) : Adam() {}
};

/// AdamW's options, by Keras' names.
struct AdamWOptions {
  /// A number or a schedule; not negative.
  LearningRate learning_rate = 0.001;
  /// See OptimizerOptions::weight_decay.
  double weight_decay = 0.004;
  double beta_1 = 0.9;    ///< in [0, 1)
  double beta_2 = 0.999;  ///< in [0, 1)
  double epsilon = 1e-7;  ///< above 0
  /// See AdamOptions::amsgrad.
  bool amsgrad = false;
};

/// Adam with weight decay (Loshchilov and Hutter 2019), equivalent to keras.optimizers.AdamW.
struct AdamW : Optimizer {
  /// Throws InvalidArgument for an option outside its range, and for a weight decay in `common`.
  explicit AdamW(const AdamWOptions& options = {}, const OptimizerOptions& common = {});
  /// `AdamW({})` uses the default options.
  explicit AdamW(Defaults) : AdamW() {}
  /// Makes the optimizer from the options in a file. Throws InputError for an unknown option or a value of a wrong
  /// type, and the errors of the constructor.
  static AdamW from_config(const OptimizerConfig& config);
};

}  // namespace lockstep
