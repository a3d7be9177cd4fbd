#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include <lockstep/models/training/model.h>
#include <lockstep/strategy/core/strategy.h>

// TensorFlow's Estimator for Keras models: model_to_estimator, RunConfig(train_distribute=...), train, evaluate,
// predict. New programs should make the model in a strategy's scope and call fit.

namespace lockstep {

/// How an Estimator runs.
struct RunConfig {
  /// The strategy whose replicas train, evaluate and predict; by default one replica, the calling thread.
  std::optional<Strategy> train_distribute{};
};

/// Estimator::train's options. Set at most one of `steps` and `max_steps`.
struct EstimatorTrainOptions {
  /// Maximum number of steps of this call; training also stops at the end of the data.
  std::optional<std::int64_t> steps{};
  /// Trains until optimizer().iterations() reaches this number, or to the end of the data. Does nothing if iterations()
  /// has already reached the number.
  std::optional<std::int64_t> max_steps{};
  /// Callbacks of this call, called in this order (TensorFlow's hooks).
  std::vector<std::shared_ptr<Callback>> hooks{};
};

/// A compiled model that gets its data from input functions. An input function returns a data set of per-replica
/// batches; each step takes one batch per replica.
class Estimator {
 public:
  /// Returns the data set, in batches for a single replica. train and evaluate need targets.
  using InputFunction = std::function<Dataset()>;

  /// Trains to the end of the data or to the limit that the options set. Throws InvalidArgument for `steps` and
  /// `max_steps` together, for endless data when neither is given, and for a null input function. Also throws whatever
  /// Model::fit throws.
  Estimator& train(const InputFunction& input_fn, const EstimatorTrainOptions& options = {});
  /// Returns the mean loss and the metrics over the data (over its first `steps` steps, if given), and "global_step",
  /// the number of steps that the optimizer has made. Throws InvalidArgument for a null input function. Also throws
  /// whatever Model::evaluate throws.
  Logs evaluate(const InputFunction& input_fn, std::optional<std::int64_t> steps = std::nullopt);
  /// The model's outputs for all examples. Throws InvalidArgument for a null input function. Also throws whatever
  /// Model::predict throws.
  Tensor predict(const InputFunction& input_fn);

  /// The trained model.
  const Model& model() const { return model_; }

 private:
  friend Estimator model_to_estimator(const Model& keras_model, const RunConfig& config);
  explicit Estimator(const Model& model) : model_(model) {}
  /// The input function's data set in global batches. Each global batch concatenates the next R batches, where R is the
  /// number of replicas.
  Dataset global_batches(const InputFunction& input_fn) const;

  Model model_;
};

/// Makes an Estimator from a copy of the compiled model and its weights, on the replicas of `config`. The estimator
/// uses the model's own optimizer, not a copy; do not train the original model with that optimizer afterwards. Throws
/// LogicError if the model was not compiled, if its optimizer has made a step, and if called in a strategy's scope.
/// Throws Unsupported in the same cases as clone_model.
Estimator model_to_estimator(const Model& keras_model, const RunConfig& config = {});

}  // namespace lockstep
