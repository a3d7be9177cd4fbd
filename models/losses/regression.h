#pragma once

#include <lockstep/models/losses/loss.h>

// Losses of predictions p (n, ...) and targets y of the same shape. Except for KLDivergence and CosineSimilarity, an
// example's loss is the mean of the formula over its elements. The formulas and the epsilon of 1e-7 are Keras'.

namespace lockstep {

/// (y - p)^2.
struct MeanSquaredError : Loss {
  MeanSquaredError();
};
/// |y - p|.
struct MeanAbsoluteError : Loss {
  MeanAbsoluteError();
};
/// 100 |y - p| / max(|y|, epsilon).
struct MeanAbsolutePercentageError : Loss {
  MeanAbsolutePercentageError();
};
/// (log(1 + max(y, epsilon)) - log(1 + max(p, epsilon)))^2.
struct MeanSquaredLogarithmicError : Loss {
  MeanSquaredLogarithmicError();
};
/// Huber's option. Files that Keras writes do not contain it; lockstep's do.
struct HuberOptions {
  HuberOptions(double delta = 1) : delta(delta) {}                           ///< NOLINT: implicit
  double delta;                                                              ///< above 0
  void describe(OptionVisitor& visitor) { visitor.option("delta", delta); }  ///< writes or reads the option
};
/// (y - p)^2 / 2 where |y - p| <= delta, else delta |y - p| - delta^2 / 2.
struct Huber : Loss {
  /// Throws InvalidArgument unless delta is finite and above 0.
  explicit Huber(const HuberOptions& options = {});
};
/// log(cosh(p - y)).
struct LogCosh : Loss {
  LogCosh();
};
/// p - y log(p + epsilon).
struct Poisson : Loss {
  Poisson();
};
/// The sum over the last axis of y log(y / p), with y and p clipped to [epsilon, 1]. If an example has several sums,
/// its loss is their mean. Targets and predictions are (n, ..., k).
struct KLDivergence : Loss {
  KLDivergence();
};
/// CosineSimilarity's option. Files that Keras writes do not contain it; lockstep's do.
struct CosineSimilarityOptions {
  CosineSimilarityOptions(int axis = -1) : axis(axis) {}                   ///< NOLINT: implicit
  int axis;                                                                ///< an axis of the predictions
  void describe(OptionVisitor& visitor) { visitor.option("axis", axis); }  ///< writes or reads the option
};
/// The negative cosine of the angle between y and p along `axis`: -sum of y p / (max(|y|, epsilon) max(|p|, epsilon)),
/// where |.| is the Euclidean norm along `axis`. If an example has several of these values, its loss is their mean.
struct CosineSimilarity : Loss {
  /// A call throws InvalidArgument for the axis of the examples and for an axis that the predictions do not have.
  explicit CosineSimilarity(const CosineSimilarityOptions& options = {});
};

}  // namespace lockstep
