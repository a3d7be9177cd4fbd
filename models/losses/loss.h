#pragma once

#include <functional>
#include <optional>
#include <string>

#include <lockstep/models/config/object_config.h>
#include <lockstep/runtime/core/defaults.h>
#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep {

/// A loss by example: (y_true, y_pred) -> (n). The training loop averages it over the global
/// batch of all replicas. Where an example has several values, e.g. one for each time step, its loss is their
/// mean.
class Loss {
 public:
  /// (y_true, y_pred) -> (n), one value for each example; differentiable in y_pred.
  using Function = std::function<Tensor(const Tensor& y_true, const Tensor& y_pred)>;
  /// `name` is used in logs. `config`: the equivalent Keras loss, for files.
  Loss(std::string name, Function function, std::optional<ObjectConfig> config = {})
      : name_(std::move(name)), function_(std::move(function)), config_(std::move(config)) {}

  /// As given.
  const std::string& name() const { return name_; }
  /// The equivalent Keras loss; empty for a custom one.
  const std::optional<ObjectConfig>& config() const { return config_; }
  /// Keras' get_config, as JSON. Throws Unsupported for a custom one.
  std::string get_config() const;
  /// The value of each example, (n), f32. As in Keras, predictions of bf16 are cast to f32 first.
  Tensor operator()(const Tensor& y_true, const Tensor& y_pred) const;

 private:
  std::string name_;
  Function function_;
  std::optional<ObjectConfig> config_;
};

// As in Keras over TensorFlow, cross-entropies of probabilities that are a softmax's or sigmoid's result, as a
// model's last layer returns them, are computed from its logits: they have a value and a gradient where probabilities
// are 0 or 1 in f32. Other probabilities are clipped to [1e-7, 1 - 1e-7].

/// SparseCategoricalCrossentropy's options.
struct SparseCrossentropyOptions {
  /// Predictions are logits, not probabilities.
  bool from_logits = false;
};

/// CategoricalCrossentropy's and BinaryCrossentropy's options.
struct CrossentropyOptions {
  /// Predictions are logits, not probabilities.
  bool from_logits = false;
  /// In [0, 1]: the share of each target that is spread over the classes: y (1 - s) + s / classes; for the binary one
  /// over both: y (1 - s) + s / 2.
  double label_smoothing = 0;
};

/// Labels of integers, predictions (n, ..., classes): -log(p[label] / sum of p), or of softmax(p).
struct SparseCategoricalCrossentropy : Loss {
  /// Named "sparse_categorical_crossentropy".
  explicit SparseCategoricalCrossentropy(const SparseCrossentropyOptions& options = {});
  /// Of all defaults: SparseCategoricalCrossentropy({}).
  explicit SparseCategoricalCrossentropy(Defaults) : SparseCategoricalCrossentropy() {}
  /// Of the options of a file.
  static SparseCategoricalCrossentropy from_config(OptionVisitor& visitor);
};
/// Targets and predictions (n, ..., classes): -sum of y log(p / sum of p), or of y log softmax(p).
struct CategoricalCrossentropy : Loss {
  /// Throws InvalidArgument for a label_smoothing outside [0, 1].
  explicit CategoricalCrossentropy(const CrossentropyOptions& options = {});
  /// Of all defaults: CategoricalCrossentropy({}).
  explicit CategoricalCrossentropy(Defaults) : CategoricalCrossentropy() {}
  /// Of the options of a file.
  static CategoricalCrossentropy from_config(OptionVisitor& visitor);
};
/// Targets and predictions (n, ..., k), targets in [0, 1]; the mean over an example's elements.
struct BinaryCrossentropy : Loss {
  /// Throws InvalidArgument for a label_smoothing outside [0, 1].
  explicit BinaryCrossentropy(const CrossentropyOptions& options = {});
  /// Of all defaults: BinaryCrossentropy({}).
  explicit BinaryCrossentropy(Defaults) : BinaryCrossentropy() {}
  /// Of the options of a file.
  static BinaryCrossentropy from_config(OptionVisitor& visitor);
};

}  // namespace lockstep
