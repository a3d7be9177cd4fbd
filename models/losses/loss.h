#pragma once

#include <functional>
#include <string>

#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep {

/// A loss by example: (y_true, y_pred) -> (n). How it is averaged is the training loop's business: over the global
/// batch, on however many replicas.
class Loss {
 public:
  /// (y_true, y_pred) -> (n), one value for each example; differentiable in y_pred.
  using Function = std::function<Tensor(const Tensor& y_true, const Tensor& y_pred)>;
  /// `name` is what logs call it.
  Loss(std::string name, Function function) : name_(std::move(name)), function_(std::move(function)) {}

  /// As given.
  const std::string& name() const { return name_; }
  /// The value of each example, (n).
  Tensor operator()(const Tensor& y_true, const Tensor& y_pred) const { return function_(y_true, y_pred); }

 private:
  std::string name_;
  Function function_;
};

/// The cross-entropies' options.
struct CrossentropyOptions {
  /// Predictions are logits, not probabilities.
  bool from_logits = false;
};

/// Labels (n) or (n, 1) of integers, predictions (n, classes).
struct SparseCategoricalCrossentropy : Loss {
  /// Named "sparse_categorical_crossentropy".
  explicit SparseCategoricalCrossentropy(const CrossentropyOptions& options = {});
};
/// Targets and predictions (n, k), targets in [0, 1]; the mean over k.
struct BinaryCrossentropy : Loss {
  /// Named "binary_crossentropy".
  explicit BinaryCrossentropy(const CrossentropyOptions& options = {});
};

}  // namespace lockstep
