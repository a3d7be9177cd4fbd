#pragma once

#include <lockstep/models/metrics/metric.h>

// Shares of correct predictions. An example with several labels, e.g. one per time step, counts with its share of
// correct ones. Targets are labels of any dtype, with the predictions' shape without its last axis or with a last axis
// of size 1, or one-hot rows with the predictions' shape.

namespace lockstep {

/// Keras' "accuracy": BinaryAccuracy for predictions (n) or (..., 1), CategoricalAccuracy for one-hot targets,
/// otherwise SparseCategoricalAccuracy.
struct Accuracy : MeanMetricWrapper {
  Accuracy();
};
/// The share of elements whose target equals the rounded prediction: 1 if it is above `threshold`, compared in f32,
/// else 0. Targets have as many elements as predictions.
struct BinaryAccuracy : MeanMetricWrapper {
  /// Named "binary_accuracy".
  explicit BinaryAccuracy(double threshold = 0.5);
  /// Makes the metric from the options in a file.
  static BinaryAccuracy from_config(OptionVisitor& visitor);
};
/// The share of rows whose largest prediction is at the index of the largest target; of equal values the first counts.
struct CategoricalAccuracy : MeanMetricWrapper {
  CategoricalAccuracy();
};
/// The share of rows whose largest prediction is at the label's index; of equal values the first counts.
struct SparseCategoricalAccuracy : MeanMetricWrapper {
  SparseCategoricalAccuracy();
};
/// The share of rows, with one-hot targets, where fewer than k predictions are larger than the prediction of the
/// target's class. A prediction that is not finite is never correct. Throws InvalidArgument for k < 1.
struct TopKCategoricalAccuracy : MeanMetricWrapper {
  /// Named "top_k_categorical_accuracy".
  explicit TopKCategoricalAccuracy(int k = 5);
  /// Makes the metric from the options in a file.
  static TopKCategoricalAccuracy from_config(OptionVisitor& visitor);
};
/// TopKCategoricalAccuracy for labels; update throws InvalidArgument for a label outside the classes.
struct SparseTopKCategoricalAccuracy : MeanMetricWrapper {
  /// Named "sparse_top_k_categorical_accuracy".
  explicit SparseTopKCategoricalAccuracy(int k = 5);
  /// Makes the metric from the options in a file.
  static SparseTopKCategoricalAccuracy from_config(OptionVisitor& visitor);
};

}  // namespace lockstep
