#include "lockstep/models/losses/loss.h"

#include <array>

#include <lockstep/kernels/array/activations.h>
#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/array/comparison.h>
#include <lockstep/kernels/array/elementwise.h>
#include <lockstep/kernels/losses/cross_entropy.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/models/losses/by_example.h>

namespace lockstep {
namespace {

/// The logarithm of probabilities clipped at epsilon. Keras also clips at 1 - epsilon, the nearest f32 below 1, which
/// changes a loss by no more than 1e-7.
Tensor safe_log(const Tensor& probabilities) { return log(maximum(probabilities, keras_epsilon)); }

/// Joins all axes but the last: (rows, classes).
Tensor as_rows(const Tensor& x) {
  if (x.rank() == 2) return x;
  return reshape(x, {x.dim(-1) == 0 ? 0 : x.elements() / x.dim(-1), x.dim(-1)});
}

/// The cross-entropy of each row of logits, 0 where the label is `ignored`, times the ratio of the number of rows to
/// the number of rows with other labels, on all replicas.
Tensor without_class(int ignored, const Tensor& rows, const Tensor& labels) {
  const bool is_narrow = labels.dtype() == DType::u8 || labels.dtype() == DType::bf16;
  const Tensor wide = is_narrow ? cast(labels, DType::f32) : labels;  // u8 does not hold -1, nor bf16 1001
  const Tensor counts = not_equal(wide, ignored);
  const Tensor losses = where(counts, sparse_softmax_cross_entropy(rows, where(counts, wide, 0.0)), 0.0);
  const Tensor all = Tensor::full({1}, static_cast<double>(rows.dim(0)));
  const Tensor numbers = sum_over_replicas(concatenate(std::array{sum(cast(counts, DType::f32), {0}, true), all}, 0));
  return losses * (slice(numbers, 0, 1, 2) / maximum(slice(numbers, 0, 0, 1), 1));
}

Loss::Function sparse_categorical(const SparseCrossentropyOptions& options) {
  return [options](const Tensor& y_true, const Tensor& y_pred) {
    require(y_pred.rank() >= 2, "sparse_categorical_crossentropy takes predictions (n, ..., classes), got {}", y_pred);
    const Tensor logits = options.from_logits ? y_pred : logits_of("softmax", y_pred);
    const Tensor rows = as_rows(logits.defined() ? logits : safe_log(y_pred));
    if (y_pred.rank() == 2 && !options.ignore_class) return sparse_softmax_cross_entropy(rows, y_true);
    const Shape by_class(std::span(y_pred.shape().begin(), y_pred.shape().end() - 1));
    require(has_shape_of_targets(y_true, by_class),
            "sparse_categorical_crossentropy takes a label for each row of classes, got {} for {}", y_true, y_pred);
    const Tensor labels = reshape(y_true, {rows.dim(0)});
    const Tensor by_row = options.ignore_class ? without_class(*options.ignore_class, rows, labels)
                                               : sparse_softmax_cross_entropy(rows, labels);
    return mean_by_example(reshape(by_row, by_class));
  };
}

/// Log probabilities (rows, classes), computed from logits if they are known.
Tensor log_probabilities(const Tensor& y_pred, bool from_logits) {
  const Tensor logits = from_logits ? y_pred : logits_of("softmax", y_pred);
  if (logits.defined()) return log_softmax(as_rows(logits));
  const Tensor rows = as_rows(y_pred);
  return safe_log(rows / sum(rows, {1}, true));
}

CrossentropyOptions checked(const CrossentropyOptions& options) {
  check_smoothing(options.label_smoothing);
  return options;
}

Loss::Function categorical(const CrossentropyOptions& options) {
  return [options](const Tensor& y_true, const Tensor& y_pred) {
    require(y_pred.rank() >= 2 && y_pred.dim(-1) >= 1,
            "categorical_crossentropy takes predictions (n, ..., classes), got {}", y_pred);
    const Tensor targets = as_rows(targets_like("categorical_crossentropy", y_true, y_pred));
    const Tensor likely = smoothed(targets, options.label_smoothing, static_cast<double>(y_pred.dim(-1)));
    const Tensor by_row = -sum(likely * log_probabilities(y_pred, options.from_logits), {1});
    if (y_pred.rank() == 2) return by_row;
    return mean_by_example(reshape(by_row, Shape(std::span(y_pred.shape().begin(), y_pred.shape().end() - 1))));
  };
}

Loss::Function binary(const CrossentropyOptions& options) {
  return [options](const Tensor& y_true, const Tensor& y_pred) {
    require(y_pred.rank() >= 2, "binary_crossentropy takes predictions (n, ..., k), got {}", y_pred);
    const Tensor targets = targets_like("binary_crossentropy", y_true, y_pred);
    const Tensor likely = smoothed(targets, options.label_smoothing, 2);
    const Tensor logits = options.from_logits ? y_pred : logits_of("sigmoid", y_pred);
    return mean_by_example(logits.defined() ? sigmoid_cross_entropy(logits, likely)
                                            : binary_cross_entropy(y_pred, likely));
  };
}

}  // namespace

void SparseCrossentropyOptions::describe(OptionVisitor& visitor) {
  visitor.fixed_unwritten("axis", -1.0);
  visitor.option("from_logits", from_logits);
  visitor.option("ignore_class", ignore_class);
}

void CrossentropyOptions::describe(OptionVisitor& visitor) {
  visitor.fixed_unwritten("axis", -1.0);
  visitor.option("from_logits", from_logits);
  visitor.option("label_smoothing", label_smoothing);
}

Tensor Loss::operator()(const Tensor& y_true, const Tensor& y_pred) const {
  require<LogicError>(function_ != nullptr, "the loss '{}' has no function: none was given, or it was moved from",
                      name_);
  return function_(y_true, as_f32(y_pred));
}

SparseCategoricalCrossentropy::SparseCategoricalCrossentropy(const SparseCrossentropyOptions& options)
    : Loss("sparse_categorical_crossentropy", sparse_categorical(options),
           config_of("SparseCategoricalCrossentropy", options)) {}

CategoricalCrossentropy::CategoricalCrossentropy(const CrossentropyOptions& options)
    : Loss("categorical_crossentropy", categorical(checked(options)), config_of("CategoricalCrossentropy", options)) {}

BinaryCrossentropy::BinaryCrossentropy(const CrossentropyOptions& options)
    : Loss("binary_crossentropy", binary(checked(options)), config_of("BinaryCrossentropy", options)) {}

}  // namespace lockstep
