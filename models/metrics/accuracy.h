#pragma once

#include <lockstep/models/metrics/metric.h>

// Shares of correct predictions. The value of an example with several labels, e.g. one per time step, is its share of
// correct predictions. Predictions are (n, ..., classes), except for BinaryAccuracy. Targets have any dtype. One-hot
// targets have the predictions' shape. Labels have this shape without the last axis, or with size 1 along it. If a
// metric takes only one of these forms, Metric::update throws InvalidArgument for the other.

namespace lockstep {

/// Keras' "accuracy": BinaryAccuracy for predictions (n) or (..., 1); for other predictions, CategoricalAccuracy if
/// targets are one-hot, and SparseCategoricalAccuracy if they are labels.
struct Accuracy : MeanMetricWrapper {
  Accuracy();
};
/// BinaryAccuracy's option.
struct BinaryAccuracyOptions {
  BinaryAccuracyOptions(double threshold = 0.5) : threshold(threshold) {}            ///< NOLINT: implicit
  double threshold;                                                                  ///< see BinaryAccuracy
  void describe(OptionVisitor& visitor) { visitor.option("threshold", threshold); }  ///< writes or reads the option
};
/// The share of elements whose target equals the rounded prediction, which is 1 above `threshold` (compared in f32) and
/// otherwise 0. Targets have the shape of the predictions, (n, ...); a last axis of size 1 may be missing or
/// additional.
struct BinaryAccuracy : MeanMetricWrapper {
  /// Named "binary_accuracy".
  explicit BinaryAccuracy(const BinaryAccuracyOptions& options = {});
};
/// For one-hot targets, the share of rows whose largest prediction is at the index of the largest target; of equal
/// values the first counts.
struct CategoricalAccuracy : MeanMetricWrapper {
  CategoricalAccuracy();
};
/// For labels, the share of rows whose largest prediction is at the label's index; of equal values the first counts.
struct SparseCategoricalAccuracy : MeanMetricWrapper {
  SparseCategoricalAccuracy();
};
/// The option of TopKCategoricalAccuracy and SparseTopKCategoricalAccuracy.
struct TopKOptions {
  TopKOptions(int k = 5) : k(k) {}                                   ///< NOLINT: implicit
  int k;                                                             ///< at least 1
  void describe(OptionVisitor& visitor) { visitor.option("k", k); }  ///< writes or reads the option
};
/// For one-hot targets, the share of rows in which fewer than k predictions are larger than the prediction of the
/// target's class. A prediction that is not finite is never correct. The constructor throws InvalidArgument for k < 1.
struct TopKCategoricalAccuracy : MeanMetricWrapper {
  /// Named "top_k_categorical_accuracy".
  explicit TopKCategoricalAccuracy(const TopKOptions& options = {});
};
/// TopKCategoricalAccuracy for labels. Metric::update throws InvalidArgument for a label outside the classes.
struct SparseTopKCategoricalAccuracy : MeanMetricWrapper {
  /// Named "sparse_top_k_categorical_accuracy".
  explicit SparseTopKCategoricalAccuracy(const TopKOptions& options = {});
};

}  // namespace lockstep
