#pragma once

#include <lockstep/models/losses/loss.h>

// Losses of predictions p (n, ...) and targets y of their shape. Except for KLDivergence and CosineSimilarity, an
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
/// (y - p)^2 / 2 where |y - p| <= delta, else delta |y - p| - delta^2 / 2.
struct Huber : Loss {
  /// Throws InvalidArgument unless delta > 0.
  explicit Huber(double delta = 1);
  /// Makes the loss from the options in a file.
  static Huber from_config(OptionVisitor& visitor);
};
/// log(cosh(p - y)).
struct LogCosh : Loss {
  LogCosh();
};
/// p - y log(p + epsilon).
struct Poisson : Loss {
  Poisson();
};
/// The sum over the last axis of y log(y / p), with y and p clipped to [epsilon, 1]; if an example has several sums,
/// their mean. Targets and predictions are (n, ..., k).
struct KLDivergence : Loss {
  KLDivergence();
};
/// The negative cosine of the angle between y and p along `axis`: -sum of y p / (max(|y|, epsilon) max(|p|, epsilon)),
/// where |.| is the Euclidean norm along `axis`. If an example has several of these values, their mean.
struct CosineSimilarity : Loss {
  /// A call throws InvalidArgument for the axis of the examples and for an axis that the predictions do not have.
  explicit CosineSimilarity(int axis = -1);
  /// Makes the loss from the options in a file.
  static CosineSimilarity from_config(OptionVisitor& visitor);
};

}  // namespace lockstep
