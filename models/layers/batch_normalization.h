#pragma once

#include <string>

#include <lockstep/models/layers/layer.h>
#include <lockstep/runtime/core/defaults.h>

namespace lockstep {

/// BatchNormalization's options, by Keras' names.
struct BatchNormalizationOptions {
  /// Share of the moving statistics that a training step keeps. Keras' default forgets the initial 0 and 1 in some
  /// hundred steps; shorter trainings need a smaller value.
  double momentum = 0.99;
  /// Added to the variance; above 0.
  double epsilon = 1e-3;
  /// In training the replicas normalize by the statistics of the whole batch, however it is split, and all update the
  /// moving statistics with them: one collective forward and one backward.
  bool synchronized = false;
  ///@{
  /// Of the weights.
  Constraint beta_constraint{};
  Constraint gamma_constraint{};
  ///@}
  /// Of the layer; the model makes one from the class where it is empty.
  std::string name{};
};

/// Normalizes each channel, the last axis (Ioffe and Szegedy 2015): by the batch's statistics in training, which also
/// updates the moving statistics, and by those at inference. Weights, each (c): gamma, beta, moving_mean,
/// moving_variance. Under a strategy every replica normalizes by its own part of the batch, unless `synchronized`, and
/// keeps its own moving statistics. Reading outside replicas and saving give their mean, in which each step of
/// each replica counts by its rows: for any number of replicas that is the moving average of the batches' weighted
/// means. A replica gets the others' numbers of rows from the DistributedBatch given to `Strategy::run`; without
/// one, the replicas exchange the numbers in each training call. A replica without rows keeps its statistics.
struct BatchNormalization : Layer {
  /// Throws InvalidArgument unless 0 <= momentum <= 1 and epsilon > 0.
  explicit BatchNormalization(const BatchNormalizationOptions& options = {});
  /// Of all defaults: BatchNormalization({}).
  explicit BatchNormalization(Defaults) : BatchNormalization() {}
  /// From a file's options.
  static BatchNormalization from_config(LayerConfig& config);
};

}  // namespace lockstep
