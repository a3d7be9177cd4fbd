#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <lockstep/models/layers/layer.h>

namespace lockstep {

/// Dropout's options.
struct DropoutOptions {
  ///@{
  /// Keras' arguments, with the same names and defaults.
  double rate = -1;  ///< required
  /// For each axis, including the batch axis: 1 if all elements along it are dropped or kept together, -1 (Keras' None)
  /// or the axis' size if they are drawn independently. The size of the batch axis is the replica's number of rows. If
  /// empty, every element is drawn independently.
  std::vector<std::int64_t> noise_shape{};
  std::string name{};
  ///@}
  void describe(LayerConfig& config);  ///< writes or reads the options
};

/// In training, sets each element to 0 with probability `rate` and scales the others by 1 / (1 - rate); at inference,
/// returns its input. The mask depends on the model's seed, the layer, the replica, and the number of times this
/// replica has called the layer in training. Runs are therefore repeatable, and each replica draws its own masks (Keras
/// 3 draws one mask for all replicas).
struct Dropout : Layer {
  /// Throws InvalidArgument unless 0 <= rate < 1, and for a noise_shape with numbers below 1 other than -1. A call of
  /// the layer throws InvalidArgument if the input and noise_shape have different numbers of axes, and if a size in
  /// noise_shape is neither 1, nor -1, nor the input's size along this axis.
  explicit Dropout(const DropoutOptions& options);
};

/// Dropout for networks with the activation selu: in training, sets each element to selu's lowest value, about -1.758,
/// with probability `rate`, and then scales and shifts all elements so that inputs of mean 0 and variance 1 keep that
/// mean and variance (Klambauer et al. 2017). At inference, returns its input. Draws masks like Dropout.
struct AlphaDropout : Layer {
  /// Throws the same errors as Dropout.
  explicit AlphaDropout(const DropoutOptions& options);
};

/// SpatialDropout1D's and SpatialDropout2D's options.
struct SpatialDropoutOptions {
  double rate = -1;  ///< probability that a feature of an example is dropped; required
  /// Name of the layer; if empty, the model derives one from the class name.
  std::string name{};
  void describe(LayerConfig& config);  ///< writes or reads the options
};

/// Dropout of whole features: each feature of a sequence (steps, features) is dropped either in all steps or in
/// none (Tompson et al. 2014).
struct SpatialDropout1D : Layer {
  /// Throws InvalidArgument unless 0 <= rate < 1.
  explicit SpatialDropout1D(const SpatialDropoutOptions& options);
};

/// Dropout of whole channels of images (height, width, channels).
struct SpatialDropout2D : Layer {
  /// Throws InvalidArgument unless 0 <= rate < 1.
  explicit SpatialDropout2D(const SpatialDropoutOptions& options);
};

/// GaussianNoise's options.
struct GaussianNoiseOptions {
  double stddev = -1;  ///< standard deviation of the noise; required
  /// Name of the layer; if empty, the model derives one from the class name.
  std::string name{};
  void describe(LayerConfig& config);  ///< writes or reads the options
};

/// In training, adds normally distributed numbers of mean 0; at inference, returns its input. The numbers depend on the
/// model's seed, the layer, the replica and the replica's number of training calls.
struct GaussianNoise : Layer {
  /// Throws InvalidArgument unless 0 <= stddev <= 1.
  explicit GaussianNoise(const GaussianNoiseOptions& options);
};

/// GaussianDropout's options.
struct GaussianDropoutOptions {
  double rate = -1;  ///< the noise has the variance of Dropout's mask, rate / (1 - rate); required
  /// Name of the layer; if empty, the model derives one from the class name.
  std::string name{};
  void describe(LayerConfig& config);  ///< writes or reads the options
};

/// In training, multiplies by normally distributed numbers of mean 1 and variance rate / (1 - rate); at inference,
/// returns its input (Srivastava et al. 2014). The numbers depend on the model's seed, the layer, the replica and the
/// replica's number of training calls.
struct GaussianDropout : Layer {
  /// Throws InvalidArgument unless 0 <= rate < 1.
  explicit GaussianDropout(const GaussianDropoutOptions& options);
};

/// StochasticDepth's options.
struct StochasticDepthOptions {
  double drop_path_rate = -1;  ///< probability that an example is dropped; required
  /// Name of the layer; if empty, the model derives one from the class name.
  std::string name{};
  void describe(LayerConfig& config);  ///< writes or reads the options
};

/// Dropout of whole examples (Huang et al. 2016). keras.applications defines this layer for ConvNeXt.
struct StochasticDepth : Layer {
  /// Throws InvalidArgument unless 0 <= drop_path_rate < 1.
  explicit StochasticDepth(const StochasticDepthOptions& options);
};

}  // namespace lockstep
