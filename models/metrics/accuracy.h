#pragma once

#include <lockstep/models/metrics/metric.h>

// Shares of correct predictions. Where an example has several labels, e.g. one for each time step, it
// counts with the share of correct ones. Targets: labels of any dtype, the predictions' shape without its last axis or
// with one of size 1; or one-hot rows of the predictions' shape.

namespace lockstep {

/// Keras' "accuracy": BinaryAccuracy for predictions (..., 1), CategoricalAccuracy for one-hot
/// targets, else SparseCategoricalAccuracy.
struct Accuracy : MeanMetricWrapper {
  Accuracy();
};
/// Predictions above `threshold` count as 1, others as 0; targets have the same number of elements.
struct BinaryAccuracy : MeanMetricWrapper {
  /// Named "binary_accuracy".
  explicit BinaryAccuracy(double threshold = 0.5);
  /// Of the options of a file.
  static BinaryAccuracy from_config(OptionVisitor& visitor);
};
/// The largest prediction is where the largest target is; of equal ones the first counts.
struct CategoricalAccuracy : MeanMetricWrapper {
  CategoricalAccuracy();
};
/// The largest prediction is the label's; of equal ones the first counts.
struct SparseCategoricalAccuracy : MeanMetricWrapper {
  SparseCategoricalAccuracy();
};
/// Fewer than k predictions are larger than the one for the class; one that is not finite is never right.
/// Throws InvalidArgument for k < 1.
struct TopKCategoricalAccuracy : MeanMetricWrapper {
  /// Named "top_k_categorical_accuracy".
  explicit TopKCategoricalAccuracy(int k = 5);
  /// Of the options of a file.
  static TopKCategoricalAccuracy from_config(OptionVisitor& visitor);
};
/// The same for labels; update throws InvalidArgument for a label outside the classes.
struct SparseTopKCategoricalAccuracy : MeanMetricWrapper {
  /// Named "sparse_top_k_categorical_accuracy".
  explicit SparseTopKCategoricalAccuracy(int k = 5);
  /// Of the options of a file.
  static SparseTopKCategoricalAccuracy from_config(OptionVisitor& visitor);
};

}  // namespace lockstep
