#pragma once

#include <vector>

#include <lockstep/models/losses/loss.h>

// Focal cross-entropies (Lin et al. 2017), which give less weight to targets that are predicted well. The formulas are
// Keras'.

namespace lockstep {

/// BinaryFocalCrossentropy's options, with Keras' names.
struct BinaryFocalCrossentropyOptions {
  /// Multiplies the loss of an element by y alpha + (1 - y) (1 - alpha).
  bool apply_class_balancing = false;
  double alpha = 0.25;  ///< weight of targets of 1; used with apply_class_balancing
  double gamma = 2;     ///< exponent of the focal factor
  /// Predictions are logits, not probabilities.
  bool from_logits = false;
  /// A number s in [0, 1]: targets y become y (1 - s) + s / 2.
  double label_smoothing = 0;
  void describe(OptionVisitor& visitor);  ///< writes or reads the options
};

/// CategoricalFocalCrossentropy's options, with Keras' names.
struct CategoricalFocalCrossentropyOptions {
  std::vector<double> alpha{0.25};  ///< one weight for all classes, or one for each class
  double gamma = 2;                 ///< exponent of the focal factor
  /// Predictions are logits, not probabilities.
  bool from_logits = false;
  /// A number s in [0, 1]: targets y become y (1 - s) + s / classes.
  double label_smoothing = 0;
  void describe(OptionVisitor& visitor);  ///< writes or reads the options
};

/// For targets y in [0, 1] and predictions p, (n, ..., k), the mean over an example's elements of (1 - q)^gamma times
/// the binary cross-entropy, with q = y p + (1 - y) (1 - p). For logits, p is their sigmoid. Uses logits for the
/// cross-entropy in the same cases as BinaryCrossentropy (loss.h).
struct BinaryFocalCrossentropy : Loss {
  /// Throws InvalidArgument for a label_smoothing outside [0, 1].
  explicit BinaryFocalCrossentropy(const BinaryFocalCrossentropyOptions& options = {});
  /// Makes `BinaryFocalCrossentropy({})` use the default options.
  explicit BinaryFocalCrossentropy(Defaults) : BinaryFocalCrossentropy() {}
};
/// For targets y and predictions p, (n, ..., classes), -sum of alpha (1 - q)^gamma y log(q) over the classes, with q =
/// p / sum of p, clipped to [1e-7, 1 - 1e-7]. For logits, p is their softmax.
struct CategoricalFocalCrossentropy : Loss {
  /// Throws InvalidArgument for a label_smoothing outside [0, 1] and an empty alpha.
  explicit CategoricalFocalCrossentropy(const CategoricalFocalCrossentropyOptions& options = {});
  /// Makes `CategoricalFocalCrossentropy({})` use the default options.
  explicit CategoricalFocalCrossentropy(Defaults) : CategoricalFocalCrossentropy() {}
};

}  // namespace lockstep
