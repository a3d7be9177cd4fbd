#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <lockstep/models/layers/initializers.h>
#include <lockstep/models/layers/layer.h>
#include <lockstep/runtime/core/defaults.h>

namespace lockstep {

/// LayerNormalization's options.
struct LayerNormalizationOptions {
  ///@{
  /// Keras' arguments, with the same names and defaults.
  std::vector<int> axis{-1};  ///< the axes of the features; the batch axis is 0; negative axes count from the end
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
  void describe(LayerConfig& config);  ///< writes or reads the options
};

/// Normalizes the features, all elements along `axis` together, by their mean and variance (Ba, Kiros and Hinton 2016).
/// Weights, each of the features' shape: gamma if `scale`, beta if `center`.
struct LayerNormalization : Layer {
  /// Throws InvalidArgument unless epsilon > 0. A call of the layer throws it if `axis` is empty, names an axis twice,
  /// an axis that the input lacks or the batch axis, and if the features have another shape than the weights.
  explicit LayerNormalization(const LayerNormalizationOptions& options = {});
  /// Makes `LayerNormalization({})` use the default options.
  explicit LayerNormalization(Defaults) : LayerNormalization() {}
};

/// GroupNormalization's options.
struct GroupNormalizationOptions {
  ///@{
  /// Keras' arguments, with the same names and defaults.
  std::int64_t groups = 32;  ///< -1: each channel is a group of its own
  int axis = -1;             ///< axis of the channels; the batch axis is 0; negative axes count from the end
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
  void describe(LayerConfig& config);  ///< writes or reads the options
};

/// Normalizes each group of neighboring channels of each example by its mean and variance (Wu and He 2018). Weights,
/// each (channels): gamma if `scale`, beta if `center`.
struct GroupNormalization : Layer {
  /// Throws InvalidArgument unless epsilon > 0, and if `groups` is 0 or below -1. A call of the layer throws it if
  /// `axis` is the batch axis or an axis that the input lacks, if the number of channels is not a multiple of `groups`,
  /// and if it differs from the weights' number of channels.
  explicit GroupNormalization(const GroupNormalizationOptions& options = {});
  /// Makes `GroupNormalization({})` use the default options.
  explicit GroupNormalization(Defaults) : GroupNormalization() {}
};

/// RMSNormalization's options.
struct RMSNormalizationOptions {
  ///@{
  /// Keras' arguments, with the same names and defaults.
  std::vector<int> axis{-1};  ///< axes of the features, which must be the last axes; negative axes count from the end
  double epsilon = 1e-6;
  std::string name{};
  ///@}
  void describe(LayerConfig& config);  ///< writes or reads the options
};

/// Divides the features, all elements along `axis` together, by their root mean square, sqrt(mean(x^2) + epsilon), and
/// multiplies them by the weight `scale`, which has the features' shape (Zhang and Sennrich 2019).
struct RMSNormalization : Layer {
  /// Throws InvalidArgument unless epsilon > 0. A call of the layer throws it unless `axis` names the last axes of the
  /// input, each once and without the batch axis, and if the features have another shape than the weight.
  explicit RMSNormalization(const RMSNormalizationOptions& options = {});
  /// Makes `RMSNormalization({})` use the default options.
  explicit RMSNormalization(Defaults) : RMSNormalization() {}
};

/// UnitNormalization's options.
struct UnitNormalizationOptions {
  ///@{
  /// Keras' arguments, with the same names and defaults.
  std::vector<int> axis{-1};  ///< the axes that the norm sums over; the batch axis, 0, is not allowed
  std::string name{};
  ///@}
  void describe(LayerConfig& config);  ///< writes or reads the options
};

/// Divides all elements along `axis` together by their Euclidean norm, or by 1e-12 if the norm is smaller.
struct UnitNormalization : Layer {
  /// A call of the layer throws InvalidArgument if `axis` is empty, names an axis twice, an axis that the input lacks
  /// or the batch axis.
  explicit UnitNormalization(const UnitNormalizationOptions& options = {});
  /// Makes `UnitNormalization({})` use the default options.
  explicit UnitNormalization(Defaults) : UnitNormalization() {}
};

}  // namespace lockstep
