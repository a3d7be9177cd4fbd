#pragma once

#include <functional>
#include <optional>
#include <string>

#include <lockstep/models/config/object_config.h>
#include <lockstep/runtime/core/defaults.h>
#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep {

/// A function (y_true, y_pred) -> (n) that returns one loss per example. The training loop averages the losses over the
/// global batch of all replicas. If an example has several values, e.g. one per time step, its loss is their mean.
class Loss {
 public:
  /// (y_true, y_pred) -> (n), one value per example; differentiable in y_pred. For an output with a mask, a custom loss
  /// returns (n, time), one value per time step; the training loop leaves out masked steps.
  using Function = std::function<Tensor(const Tensor& y_true, const Tensor& y_pred)>;
  /// `name` is used in logs. `config` has the class and the options that files contain, for a Keras class or a
  /// registered class (register_keras_serializable). For a loss without a config, files contain only the name. Throws
  /// InvalidArgument for a config with a number that is infinite or NaN.
  Loss(std::string name, Function function, std::optional<ObjectConfig> config = {});

  /// The name in logs.
  const std::string& name() const { return name_; }
  /// The class and the options in files; may be empty for a custom loss.
  const std::optional<ObjectConfig>& config() const { return config_; }
  /// The config of a Keras loss; null for a custom loss and for a loss that was moved from.
  const ObjectConfig* keras_config() const { return is_keras_ && config_->options ? &*config_ : nullptr; }
  /// Keras' get_config, as JSON. Throws Unsupported for a loss without a config.
  std::string get_config() const;
  /// The loss of each example, f32 (n). A custom loss of an output with a mask returns the loss of each time step, (n,
  /// time). As in Keras, bf16 predictions are cast to f32 first. Throws LogicError if there is no function. Keras'
  /// losses throw InvalidArgument, which names both shapes, if targets and predictions do not match. A last axis of
  /// size 1 may be missing or additional in the targets: (n) fits predictions (n, 1), and labels (n, time, 1) fit
  /// predictions (n, time, classes).
  Tensor operator()(const Tensor& y_true, const Tensor& y_pred) const;

 private:
  std::string name_;
  Function function_;
  std::optional<ObjectConfig> config_;
  bool is_keras_;
};

// As in Keras with TensorFlow, the cross-entropy of probabilities that come directly from a softmax or sigmoid, such as
// a model's last layer, is computed from the logits. Its value and gradient are therefore finite even where
// probabilities are 0 or 1 in f32. Other probabilities are clipped to at least 1e-7 and, by BinaryCrossentropy, to at
// most 1 - 1e-7.

/// SparseCategoricalCrossentropy's options.
struct SparseCrossentropyOptions {
  /// Predictions are logits, not probabilities.
  bool from_logits = false;
  /// A label, inside or outside the classes, to ignore. Its loss is 0, and the losses of the other labels are scaled so
  /// that the mean over all labels equals the unscaled mean over the other labels. Replicas sum their numbers of
  /// labels, so all replicas must call the loss.
  std::optional<int> ignore_class{};
  void describe(OptionVisitor& visitor);  ///< writes or reads the options
};

/// CategoricalCrossentropy's and BinaryCrossentropy's options.
struct CrossentropyOptions {
  /// Predictions are logits, not probabilities.
  bool from_logits = false;
  /// A number s in [0, 1]: targets y become y (1 - s) + s / classes, in BinaryCrossentropy y (1 - s) + s / 2.
  double label_smoothing = 0;
  void describe(OptionVisitor& visitor);  ///< writes or reads the options
};

/// For labels (n, ...) and predictions p (n, ..., classes), -log(p[label] / sum of p) or, with from_logits,
/// -log(softmax(p)[label]). Labels are integers; f32 and bf16 labels must be whole numbers. A call throws
/// InvalidArgument for a label that is neither a class nor ignore_class, in the way described at
/// sparse_softmax_cross_entropy.
struct SparseCategoricalCrossentropy : Loss {
  /// Named "sparse_categorical_crossentropy".
  explicit SparseCategoricalCrossentropy(const SparseCrossentropyOptions& options = {});
  /// Makes `SparseCategoricalCrossentropy({})` use the default options.
  explicit SparseCategoricalCrossentropy(Defaults) : SparseCategoricalCrossentropy() {}
};
/// For targets y and predictions p, (n, ..., classes), -sum of y log(p / sum of p) or, with from_logits, -sum of y
/// log(softmax(p)).
struct CategoricalCrossentropy : Loss {
  /// Throws InvalidArgument for a label_smoothing outside [0, 1].
  explicit CategoricalCrossentropy(const CrossentropyOptions& options = {});
  /// Makes `CategoricalCrossentropy({})` use the default options.
  explicit CategoricalCrossentropy(Defaults) : CategoricalCrossentropy() {}
};
/// For targets in [0, 1] and predictions, (n, ..., k), the mean of the binary cross-entropies of an example's elements.
struct BinaryCrossentropy : Loss {
  /// Throws InvalidArgument for a label_smoothing outside [0, 1].
  explicit BinaryCrossentropy(const CrossentropyOptions& options = {});
  /// Makes `BinaryCrossentropy({})` use the default options.
  explicit BinaryCrossentropy(Defaults) : BinaryCrossentropy() {}
};

}  // namespace lockstep
