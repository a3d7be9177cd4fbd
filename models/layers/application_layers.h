#pragma once

#include <cstdint>
#include <string>

#include <lockstep/models/layers/layer.h>

// Layers that keras.applications defines for its models. StochasticDepth is in dropout.h.

namespace lockstep {

/// CustomScaleLayer's options.
struct CustomScaleLayerOptions {
  double scale = 1;  ///< factor of the second input
  /// Name of the layer; if empty, the model derives one from the class name.
  std::string name{};
  void describe(LayerConfig& config);  ///< writes or reads the options
};

/// The first input plus `scale` times the second, which must have the same shape. InceptionResNetV2 uses it for
/// residual connections.
struct CustomScaleLayer : Layer {
  /// Throws InvalidArgument for a scale that is not finite.
  explicit CustomScaleLayer(const CustomScaleLayerOptions& options);
};

/// LayerScale's options.
struct LayerScaleOptions {
  double init_values = 1e-6;        ///< initial value of gamma
  std::int64_t projection_dim = 0;  ///< number of channels; required
  /// Name of the layer; if empty, the model derives one from the class name.
  std::string name{};
  void describe(LayerConfig& config);  ///< writes or reads the options
};

/// x * gamma for each channel of the last axis (Touvron et al. 2021), as in ConvNeXt. Weight: gamma (projection_dim).
struct LayerScale : Layer {
  /// Throws InvalidArgument for a projection_dim below 1.
  explicit LayerScale(const LayerScaleOptions& options);
};

}  // namespace lockstep
