#pragma once

#include <string>

#include <lockstep/models/layers/initializers.h>
#include <lockstep/models/layers/layer.h>
#include <lockstep/runtime/core/defaults.h>

namespace lockstep {

/// BatchNormalization's options, with Keras' names.
struct BatchNormalizationOptions {
  /// The axis of the channels. The batch axis is 0; negative axes count from the end. Any axis other than the last
  /// costs a copy of the input and of the result.
  int axis = -1;
  /// In a training step, a moving statistic becomes momentum * statistic + (1 - momentum) * batch statistic. With the
  /// default, which is Keras', the initial mean 0 and variance 1 still have an effect after a few hundred steps;
  /// shorter training runs need a smaller value.
  double momentum = 0.99;
  /// Added to the variance; above 0.
  double epsilon = 1e-3;
  /// In training, all replicas normalize by the statistics of the global batch, however it is split, and update the
  /// moving statistics with them. Costs one collective in the forward pass and one in the backward pass; for masked
  /// inputs, two in each.
  bool synchronized = false;
  ///@{
  /// Whether the layer has the weights beta (center) and gamma (scale). Without the weight, beta is 0 or gamma is 1.
  bool center = true;
  bool scale = true;
  ///@}
  ///@{
  /// Initializers of the weights.
  SeededInitializer beta_initializer = zeros;
  SeededInitializer gamma_initializer = ones;
  SeededInitializer moving_mean_initializer = zeros;
  SeededInitializer moving_variance_initializer = ones;
  ///@}
  ///@{
  /// Penalties on beta and gamma.
  Regularizer beta_regularizer{};
  Regularizer gamma_regularizer{};
  ///@}
  ///@{
  /// Constraints of beta and gamma.
  Constraint beta_constraint{};
  Constraint gamma_constraint{};
  ///@}
  /// Name of the layer; if empty, the model derives one from the class name.
  std::string name{};
  void describe(LayerConfig& config);  ///< writes or reads the options
};

/// Normalizes each channel (Ioffe and Szegedy 2015). In training it uses the batch's mean and variance and updates the
/// moving statistics with them; at inference it uses the moving statistics. Weights, each (c): gamma if `scale`, beta
/// if `center`, moving_mean, moving_variance.
///
/// Under a strategy, each replica normalizes by the statistics of its own part of the batch, unless `synchronized`.
/// Except under CentralStorageStrategy, each replica keeps its own moving statistics; a replica without rows does not
/// change them. Outside replicas and in files, a moving statistic is the mean of the replicas' moving statistics, each
/// weighted by the moving average of the replica's share of the rows. This mean equals the moving average of the
/// row-weighted mean of the replicas' batch statistics. Under CentralStorageStrategy, all replicas share one copy of
/// each moving statistic, which holds this moving average. The replicas' numbers of rows come from the DistributedBatch
/// given to `Strategy::run`; without a DistributedBatch, the replicas exchange these numbers in each training call.
///
/// Elements that a mask leaves out are normalized, but do not count in the mean and variance of a batch. On masked
/// inputs, a trainable layer in training throws Unsupported if `axis` is not the last axis, and InvalidArgument if the
/// mask does not have all axes of the input but the last.
struct BatchNormalization : Layer {
  /// Throws InvalidArgument unless 0 <= momentum <= 1 and epsilon > 0.
  explicit BatchNormalization(const BatchNormalizationOptions& options = {});
  /// Makes `BatchNormalization({})` use the default options.
  explicit BatchNormalization(Defaults) : BatchNormalization() {}
};

}  // namespace lockstep
