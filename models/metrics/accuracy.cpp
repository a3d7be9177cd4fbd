#include "lockstep/models/metrics/accuracy.h"

#include <algorithm>
#include <cmath>
#include <span>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/models/losses/by_example.h>
#include <lockstep/models/metrics/rows.h>

namespace lockstep {
namespace {

using Values = std::vector<double>;

void check(bool fits, const char* what, const Tensor& y_true, const Tensor& y_pred) {
  require(fits, "{}, got {} and {}", what, y_true, y_pred);
}

/// Whether y_true has one label for each row of classes in y_pred.
bool has_labels(const Tensor& y_true, const Tensor& y_pred) {
  return y_pred.rank() >= 2 && y_pred.dim(-1) > 0 &&
         has_shape_of_targets(y_true, Shape(std::span(y_pred.shape().begin(), y_pred.shape().end() - 1)));
}

Tensor largest(const Tensor& x) { return argmax(x.dtype() == DType::f32 ? x : cast(x, DType::f32), -1); }

Values equal(Values a, const Values& b, std::int64_t rows) {
  std::transform(a.begin(), a.end(), b.begin(), a.begin(), [](double x, double y) { return x == y ? 1 : 0; });
  return means_of_rows(a, rows);
}

Values binary(const Tensor& y_true, const Tensor& y_pred, double threshold) {
  check(has_shape_of_targets(y_true, y_pred.shape()), "binary accuracy compares targets and predictions of one shape",
        y_true, y_pred);
  const auto limit = static_cast<float>(threshold);  // f32 as in Keras, since a prediction may be equal to it
  Values rounded = y_pred.to_vector<double>();
  for (double& prediction : rounded) prediction = prediction > limit ? 1 : 0;
  return equal(std::move(rounded), y_true.to_vector<double>(), y_pred.dim(0));
}

/// The class of each one-hot row of y_true.
Values classes_of(const Tensor& y_true, const Tensor& y_pred) {
  check(y_true.defined() && y_true.shape() == y_pred.shape() && y_pred.rank() >= 2,
        "categorical accuracy compares one-hot targets and predictions of one shape (n, classes)", y_true, y_pred);
  return largest(y_true).to_vector<double>();
}

Values labels_of(const Tensor& y_true, const Tensor& y_pred) {
  check(has_labels(y_true, y_pred), "accuracy compares labels (n) or (n, 1) with predictions (n, classes)", y_true,
        y_pred);
  return y_true.to_vector<double>();
}

Values matches(Values labels, const Tensor& y_pred) {
  return equal(std::move(labels), largest(y_pred).to_vector<double>(), y_pred.dim(0));
}

Values automatic(const Tensor& y_true, const Tensor& y_pred) {
  if (y_pred.rank() == 1 || y_pred.dim(-1) == 1) return binary(y_true, y_pred, 0.5);
  const bool one_hot = y_true.defined() && y_true.shape() == y_pred.shape();
  return matches(one_hot ? classes_of(y_true, y_pred) : labels_of(y_true, y_pred), y_pred);
}

Values in_top_k(Values labels, const Tensor& y_pred, int k) {
  const Values predictions = y_pred.to_vector<double>();
  const std::int64_t classes = y_pred.dim(-1);
  const double* row = predictions.data();
  for (double& label : labels) {
    require(label >= 0 && label < static_cast<double>(classes), "label {} is not one of {} classes", label, classes);
    const double own = row[static_cast<std::int64_t>(label)];
    const auto larger = std::count_if(row, row + classes, [own](double other) { return other > own; });
    label = std::isfinite(own) && larger < k ? 1 : 0;
    row += classes;
  }
  return means_of_rows(labels, y_pred.dim(0));
}

int checked_k(int k) {
  require(k >= 1, "top-k accuracy needs k >= 1, got {}", k);
  return k;
}

}  // namespace

Accuracy::Accuracy() : MeanMetricWrapper("accuracy", automatic, Direction::up, ObjectConfig{"accuracy"}) {}

BinaryAccuracy::BinaryAccuracy(const BinaryAccuracyOptions& options)
    : MeanMetricWrapper(
          "binary_accuracy",
          [threshold = options.threshold](const Tensor& y_true, const Tensor& y_pred) {
            return binary(y_true, y_pred, threshold);
          },
          Direction::up, config_of("BinaryAccuracy", options)) {}

CategoricalAccuracy::CategoricalAccuracy()
    : MeanMetricWrapper(
          "categorical_accuracy",
          [](const Tensor& y_true, const Tensor& y_pred) { return matches(classes_of(y_true, y_pred), y_pred); },
          Direction::up, ObjectConfig{"CategoricalAccuracy"}) {}

SparseCategoricalAccuracy::SparseCategoricalAccuracy()
    : MeanMetricWrapper(
          "sparse_categorical_accuracy",
          [](const Tensor& y_true, const Tensor& y_pred) { return matches(labels_of(y_true, y_pred), y_pred); },
          Direction::up, ObjectConfig{"SparseCategoricalAccuracy"}) {}

TopKCategoricalAccuracy::TopKCategoricalAccuracy(const TopKOptions& options)
    : MeanMetricWrapper(
          "top_k_categorical_accuracy",
          [k = checked_k(options.k)](const Tensor& y_true, const Tensor& y_pred) {
            return in_top_k(classes_of(y_true, y_pred), y_pred, k);
          },
          Direction::up, config_of("TopKCategoricalAccuracy", options)) {}

SparseTopKCategoricalAccuracy::SparseTopKCategoricalAccuracy(const TopKOptions& options)
    : MeanMetricWrapper(
          "sparse_top_k_categorical_accuracy",
          [k = checked_k(options.k)](const Tensor& y_true, const Tensor& y_pred) {
            return in_top_k(labels_of(y_true, y_pred), y_pred, k);
          },
          Direction::up, config_of("SparseTopKCategoricalAccuracy", options)) {}

}  // namespace lockstep
