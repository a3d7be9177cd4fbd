#pragma once

#include <lockstep/models/losses/regression.h>
#include <lockstep/models/metrics/metric.h>
#include <lockstep/runtime/core/defaults.h>

// Metrics of predictions p and targets y of the same shape. The formulas are Keras'.

namespace lockstep {

/// The square root of the weighted mean, over the examples, of each example's mean of (y - p)^2.
struct RootMeanSquaredError : Metric {
  RootMeanSquaredError();
};
/// Keras' metric CosineSimilarity: the weighted mean of the cosine similarities. The loss CosineSimilarity has the
/// opposite sign.
struct CosineSimilarityMetric : MeanMetricWrapper {
  /// Named "cosine_similarity". For `axis` see the loss.
  explicit CosineSimilarityMetric(const CosineSimilarityOptions& options = {});
};

/// How R2Score combines the scores of several outputs. none: for a single output only; Metric::update throws
/// InvalidArgument unless predictions are (n, 1). uniform_average: the mean of the scores. variance_weighted_average:
/// the mean of the scores, weighted by the targets' variances.
enum class R2Aggregation { none, uniform_average, variance_weighted_average };

/// R2Score's options, with Keras' names.
struct R2ScoreOptions {
  R2Aggregation class_aggregation = R2Aggregation::uniform_average;  ///< combines several outputs' scores
  /// Number of independent variables p for the adjusted score 1 - (1 - score) (n - 1) / (n - p - 1), where n is the
  /// number of targets of all outputs together. Not adjusted if p is 0 or n - p - 1 <= 0.
  int num_regressors = 0;
  void describe(OptionVisitor& visitor);  ///< writes or reads the options
};

/// The coefficient of determination of each output of y and p (n, outputs): 1 - sum (y - p)^2 / sum (y - mean of y)^2.
/// As in Keras, the divisor is computed as sum y^2 - (sum y)^2 / n, here in f64. If it is 0, the score is 0, or NaN if
/// the dividend is also 0. For equal targets it is 0 only if these sums are exact: 100 targets of 0.1 leave -2.7e-15,
/// and the score is a huge number. The result is NaN if all batches are empty, as in Keras.
struct R2Score : Metric {
  /// Named "r2_score". Throws InvalidArgument for num_regressors below 0.
  explicit R2Score(const R2ScoreOptions& options = {});
  /// Makes `R2Score({})` use the default options.
  explicit R2Score(Defaults) : R2Score() {}
};

}  // namespace lockstep
