#pragma once

#include <cstdint>
#include <vector>

#include <lockstep/models/losses/loss.h>

// Losses for segmentation that measure the overlap of targets y and predictions p, which have the same shape and values
// in [0, 1]. Sums are over `axis`, and an example's loss is the mean over its other axes. Without `axis`, or if `axis`
// contains the axis of examples, a sum is over all rows of the replica's part of the batch, and all these rows get the
// same loss. Then the result depends on the split over replicas, as in Keras under TensorFlow's MirroredStrategy. The
// formulas and the epsilon of 1e-7 are Keras'.

namespace lockstep {

/// Dice's options, with Keras' names.
struct DiceOptions {
  std::vector<std::int64_t> axis{};       ///< axes of the predictions to sum over, 0 for the examples; all if empty
  void describe(OptionVisitor& visitor);  ///< writes or reads the options
};

/// Tversky's options, with Keras' names.
struct TverskyOptions {
  double alpha = 0.5;                     ///< weight of false negatives, y (1 - p)
  double beta = 0.5;                      ///< weight of false positives, (1 - y) p
  std::vector<std::int64_t> axis{};       ///< see DiceOptions::axis
  void describe(OptionVisitor& visitor);  ///< writes or reads the options
};

/// 1 - 2 sum(y p) / (sum(y) + sum(p) + epsilon).
struct Dice : Loss {
  /// Throws InvalidArgument for an axis that no tensor can have; a call throws it for an axis that the predictions lack
  /// and for targets of another shape.
  explicit Dice(const DiceOptions& options = {});
  /// Makes `Dice({})` use the default options.
  explicit Dice(Defaults) : Dice() {}
};
/// 1 - t / (t + alpha sum(y (1 - p)) + beta sum((1 - y) p) + epsilon) with t = sum(y p).
struct Tversky : Loss {
  /// Throws InvalidArgument for an axis that no tensor can have; a call throws it for an axis that the predictions lack
  /// and for targets of another shape.
  explicit Tversky(const TverskyOptions& options = {});
  /// Makes `Tversky({})` use the default options.
  explicit Tversky(Defaults) : Tversky() {}
};

}  // namespace lockstep
