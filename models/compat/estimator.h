#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include <lockstep/models/training/model.h>
#include <lockstep/strategy/core/strategy.h>

// TensorFlow's Estimator for Keras models: model_to_estimator, RunConfig(train_distribute=...), train, evaluate,
// predict. New programs make the model in a strategy's scope and call fit.

namespace lockstep {

/// How an Estimator runs.
struct RunConfig {
  /// The strategy whose replicas train, evaluate and predict; by default the calling thread alone.
  std::optional<Strategy> train_distribute{};
};

/// Estimator::train's options; at most one of the first two.
struct EstimatorTrainOptions {
  /// Number of further steps.
  std::optional<std::int64_t> steps{};
  std::optional<std::int64_t> max_steps{};  ///< until there have been that many, over all calls
  /// Called with the progress, in this order; Estimator's hooks.
  std::vector<std::shared_ptr<Callback>> hooks{};
};

/// A compiled model whose data come from functions: train, evaluate and predict take a function that makes
/// the data set, in batches for ONE replica; each step takes one batch for every replica.
class Estimator {
 public:
  /// Makes a data set with targets.
  using InputFunction = std::function<Dataset()>;

  /// Trains to the end of the data, or for `steps` steps of them. Throws InvalidArgument for `steps` and `max_steps`
  /// together and for data without end when neither is given; else as Model::fit.
  Estimator& train(const InputFunction& input_fn, const EstimatorTrainOptions& options = {});
  /// The means over the data, or over the first `steps` steps of them, and "global_step", the steps trained. Throws as
  /// Model::evaluate.
  Logs evaluate(const InputFunction& input_fn, std::optional<std::int64_t> steps = std::nullopt);
  /// The outputs for all examples. Throws as Model::predict.
  Tensor predict(const InputFunction& input_fn);

  /// The trained model.
  const Model& model() const { return model_; }

 private:
  friend Estimator model_to_estimator(const Model& keras_model, const RunConfig& config);
  explicit Estimator(const Model& model) : model_(model) {}
  /// In batches for all replicas.
  Dataset global_batches(const InputFunction& input_fn) const;

  Model model_;
};

/// An Estimator of a copy of the compiled model, with its weights, on the replicas of `config`. The optimizer is the
/// estimator's from then on. Throws LogicError for a model that was not compiled, or whose optimizer has done a step,
/// and in a strategy's scope; Unsupported as clone_model.
Estimator model_to_estimator(const Model& keras_model, const RunConfig& config = {});

}  // namespace lockstep
