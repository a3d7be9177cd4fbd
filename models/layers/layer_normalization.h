#pragma once

#include <string>

#include <lockstep/models/layers/initializers.h>
#include <lockstep/models/layers/layer.h>
#include <lockstep/runtime/core/defaults.h>

namespace lockstep {

/// LayerNormalization's options.
struct LayerNormalizationOptions {
  ///@{
  /// Keras' arguments of these names, with its defaults where it has any.
  double epsilon = 1e-3;
  bool center = true;
  bool scale = true;
  SeededInitializer beta_initializer = zeros;
  SeededInitializer gamma_initializer = ones;
  Regularizer beta_regularizer{};
  Regularizer gamma_regularizer{};
  Constraint beta_constraint{};
  Constraint gamma_constraint{};
  std::string name{};
  ///@}
};

/// Normalizes each vector along the last axis by its mean and variance (Ba, Kiros and Hinton 2016). Weights, each
/// (features): gamma, beta.
struct LayerNormalization : Layer {
  /// Throws InvalidArgument unless epsilon > 0.
  explicit LayerNormalization(const LayerNormalizationOptions& options = {});
  /// Lets `LayerNormalization({})` mean the defaults.
  explicit LayerNormalization(Defaults) : LayerNormalization() {}
  /// Makes the layer from the options in a file.
  static LayerNormalization from_config(LayerConfig& config);
};

}  // namespace lockstep
