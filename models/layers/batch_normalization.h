#pragma once

#include <string>

#include <lockstep/models/layers/layer.h>
#include <lockstep/runtime/core/defaults.h>

namespace lockstep {

/// BatchNormalization's options, with Keras' names.
struct BatchNormalizationOptions {
  /// The axis of the channels. The batch axis is 0; negative ones count from the end. Axes other than the last need
  /// copies.
  int axis = -1;
  /// Share of the moving statistics that a training step keeps. Keras' default takes a few hundred steps to forget the
  /// initial 0 and 1; shorter training runs need a smaller value.
  double momentum = 0.99;
  /// Added to the variance; above 0.
  double epsilon = 1e-3;
  /// In training, all replicas normalize by the statistics of the global batch, however it is split, and update the
  /// moving statistics with them. Costs one collective in the forward pass and one in the backward pass.
  bool synchronized = false;
  ///@{
  /// Whether the layer has a beta (center) and a gamma (scale); without them, beta is 0 and gamma 1.
  bool center = true;
  bool scale = true;
  ///@}
  ///@{
  /// Constraints of beta and gamma.
  Constraint beta_constraint{};
  Constraint gamma_constraint{};
  ///@}
  /// Name of the layer; if empty, the model derives one from the class name.
  std::string name{};
};

/// Normalizes each channel (Ioffe and Szegedy 2015). In training it uses the batch's mean and variance
/// and updates the moving statistics with them; at inference it uses the moving statistics. Weights, each (c): gamma,
/// beta, moving_mean, moving_variance. Under a strategy every replica normalizes by its own part of the batch, unless
/// `synchronized`, and keeps its own moving statistics. Outside replicas and in files, a statistic's value is the mean
/// over the replicas, weighted by the numbers of rows that each of them had in the steps. For any number of replicas it
/// equals the moving average, over the steps, of the row-weighted mean of the replicas' statistics. A replica takes the
/// other replicas' numbers of rows from the DistributedBatch given to `Strategy::run`; without one, the replicas
/// exchange the numbers in each training call. A replica without rows keeps its statistics.
/// Elements that a mask leaves out are normalized, but do not count in the mean and variance of a batch. Training with
/// another axis than the last one does not support masks.
struct BatchNormalization : Layer {
  /// Throws InvalidArgument unless 0 <= momentum <= 1 and epsilon > 0.
  explicit BatchNormalization(const BatchNormalizationOptions& options = {});
  /// Makes `BatchNormalization({})` use the default options.
  explicit BatchNormalization(Defaults) : BatchNormalization() {}
  /// Makes the layer from the options in a file.
  static BatchNormalization from_config(LayerConfig& config);
};

}  // namespace lockstep
