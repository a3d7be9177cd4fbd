#pragma once

#include <vector>

#include <lockstep/models/losses/loss.h>

// Focal cross-entropies (Lin et al. 2017): the better a target is predicted, the less it counts. The formulas are
// Keras'.

namespace lockstep {

/// BinaryFocalCrossentropy's options, with Keras' names.
struct BinaryFocalCrossentropyOptions {
  /// Multiplies the loss of an element by y alpha + (1 - y) (1 - alpha).
  bool apply_class_balancing = false;
  double alpha = 0.25;  ///< weight of the targets 1; used with apply_class_balancing
  double gamma = 2;     ///< exponent of the focal factor
  /// Predictions are logits, not probabilities.
  bool from_logits = false;
  /// The share s, in [0, 1], of each target that is spread over both classes: y (1 - s) + s / 2.
  double label_smoothing = 0;
};

/// CategoricalFocalCrossentropy's options, with Keras' names.
struct CategoricalFocalCrossentropyOptions {
  std::vector<double> alpha{0.25};  ///< the weight of all classes, or one for each class
  double gamma = 2;                 ///< exponent of the focal factor
  /// Predictions are logits, not probabilities.
  bool from_logits = false;
  /// The share s, in [0, 1], of each target that is spread evenly over the classes: y (1 - s) + s / classes.
  double label_smoothing = 0;
};

/// Targets y in [0, 1] and predictions p, (n, ..., k): the mean over an example's elements of (1 - q)^gamma times the
/// binary cross-entropy, with q = y p + (1 - y) (1 - p); for logits, p is their sigmoid. The cross-entropy is computed
/// from logits as in loss.h.
struct BinaryFocalCrossentropy : Loss {
  /// Throws InvalidArgument for a label_smoothing outside [0, 1].
  explicit BinaryFocalCrossentropy(const BinaryFocalCrossentropyOptions& options = {});
  /// Makes `BinaryFocalCrossentropy({})` use the default options.
  explicit BinaryFocalCrossentropy(Defaults) : BinaryFocalCrossentropy() {}
  /// Makes the loss from the options in a file.
  static BinaryFocalCrossentropy from_config(OptionVisitor& visitor);
};
/// Targets y and predictions p (n, ..., classes): -sum of alpha (1 - q)^gamma y log(q), with q = p / sum of p, clipped
/// to [1e-7, 1 - 1e-7]; for logits, p is their softmax.
struct CategoricalFocalCrossentropy : Loss {
  /// Throws InvalidArgument for a label_smoothing outside [0, 1] and for no alpha.
  explicit CategoricalFocalCrossentropy(const CategoricalFocalCrossentropyOptions& options = {});
  /// Makes `CategoricalFocalCrossentropy({})` use the default options.
  explicit CategoricalFocalCrossentropy(Defaults) : CategoricalFocalCrossentropy() {}
  /// Makes the loss from the options in a file.
  static CategoricalFocalCrossentropy from_config(OptionVisitor& visitor);
};

}  // namespace lockstep
