#pragma once

#include <optional>
#include <string>
#include <vector>

#include <lockstep/models/optimizers/optimizer.h>
#include <lockstep/runtime/core/defaults.h>

namespace lockstep {

/// Muon's options, by Keras' names. The options that begin with adam_ apply to the variables that AdamW updates.
struct MuonOptions {
  /// A number or a schedule; not negative.
  LearningRate learning_rate = 0.001;
  double adam_beta_1 = 0.9;    ///< in [0, 1)
  double adam_beta_2 = 0.999;  ///< in [0, 1)
  /// OptimizerOptions::weight_decay of the variables that AdamW updates.
  double adam_weight_decay = 0.004;
  double epsilon = 1e-7;  ///< AdamW's epsilon; above 0
  /// OptimizerOptions::weight_decay of the other variables.
  double weight_decay = 0.004;
  /// AdamW updates a variable if one of these regular expressions (ECMAScript) matches a part of its name.
  std::vector<std::string> exclude_layers{};
  bool exclude_embeddings = true;  ///< AdamW updates variables with "embedding" in their names, ignoring case
  ///@{
  /// The coefficients of the Newton-Schulz iteration.
  double muon_a = 3.4445;
  double muon_b = -4.7750;
  double muon_c = 2.0315;
  ///@}
  double adam_lr_ratio = 1;  ///< AdamW's learning rate as a multiple of learning_rate
  double momentum = 0.95;    ///< in [0, 1]
  int ns_steps = 5;          ///< number of Newton-Schulz iterations; not negative
  bool nesterov = true;      ///< uses gradient + momentum * m instead of m
  /// A matrix's step is scaled by this times the square root of the matrix's larger dimension; not scaled if empty.
  std::optional<double> rms_rate = 0.2;
  /// Writes or reads the options but learning_rate, weight_decay and exclude_layers.
  void describe(OptionVisitor& visitor);
};

/// The optimizer Muon (Jordan et al. 2024, Liu et al. 2025), equivalent to keras.optimizers.Muon. A matrix moves
/// against its momentum m = momentum * m + gradient, after Newton-Schulz iterations have brought the singular values of
/// m near 1. AdamW updates the excluded variables and the variables that are not matrices.
struct Muon : Optimizer {
  /// Throws InvalidArgument for an option outside its range, for an invalid regular expression, and for a weight decay
  /// in `common`.
  explicit Muon(const MuonOptions& options = {}, const OptimizerOptions& common = {});
  /// `Muon({})` uses the default options.
  explicit Muon(Defaults) : Muon() {}
  /// Makes the optimizer from the options in a file. Throws InputError for an unknown option, a value of a wrong type,
  /// and an exclude_layers that is not a list of strings. Also throws the errors of the constructor.
  static Muon from_config(const OptimizerConfig& config);
};

}  // namespace lockstep
