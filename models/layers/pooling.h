#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <lockstep/kernels/convolution/conv2d.h>
#include <lockstep/models/layers/layer.h>
#include <lockstep/runtime/core/defaults.h>

namespace lockstep {

/// MaxPooling2D's and AveragePooling2D's options.
struct Pooling2DOptions {
  ///@{
  /// Keras' arguments, with the same names and defaults.
  Size2d pool_size = 2;
  std::optional<Size2d> strides{};  ///< default: pool_size
  Padding padding = Padding::valid;
  std::string name{};
  ///@}
  void describe(LayerConfig& config);  ///< writes or reads the options
};

/// The largest element of each window: (h, w, c) -> (h', w', c).
struct MaxPooling2D : Layer {
  /// Throws InvalidArgument for a size below 1.
  explicit MaxPooling2D(const Pooling2DOptions& options = {});
  /// Makes `MaxPooling2D({})` use the default options.
  explicit MaxPooling2D(Defaults) : MaxPooling2D() {}
};

/// The mean of each window, padding not counted: (h, w, c) -> (h', w', c).
struct AveragePooling2D : Layer {
  /// Throws InvalidArgument for a size below 1.
  explicit AveragePooling2D(const Pooling2DOptions& options = {});
  /// Makes `AveragePooling2D({})` use the default options.
  explicit AveragePooling2D(Defaults) : AveragePooling2D() {}
};

/// GlobalMaxPooling2D's and GlobalAveragePooling2D's options.
struct GlobalPooling2DOptions {
  bool keepdims = false;  ///< returns (1, 1, c) instead of (c)
  /// Name of the layer; if empty, the model derives one from the class name.
  std::string name{};
  void describe(LayerConfig& config);  ///< writes or reads the options
};

/// The largest element of each channel: (h, w, c) -> (c). Images must have at least one pixel.
struct GlobalMaxPooling2D : Layer {
  /// A call throws InvalidArgument for empty images.
  explicit GlobalMaxPooling2D(const GlobalPooling2DOptions& options = {});
  /// Makes `GlobalMaxPooling2D({})` use the default options.
  explicit GlobalMaxPooling2D(Defaults) : GlobalMaxPooling2D() {}
};

/// The mean of each channel: (h, w, c) -> (c). Images must have at least one pixel.
struct GlobalAveragePooling2D : Layer {
  /// A call throws InvalidArgument for empty images.
  explicit GlobalAveragePooling2D(const GlobalPooling2DOptions& options = {});
  /// Makes `GlobalAveragePooling2D({})` use the default options.
  explicit GlobalAveragePooling2D(Defaults) : GlobalAveragePooling2D() {}
};

/// MaxPooling1D's and AveragePooling1D's options.
struct Pooling1DOptions {
  ///@{
  /// Keras' arguments, with the same names and defaults.
  std::int64_t pool_size = 2;
  std::optional<std::int64_t> strides{};  ///< default: pool_size
  Padding padding = Padding::valid;
  std::string name{};
  ///@}
  void describe(LayerConfig& config);  ///< writes or reads the options
};

/// The largest element of each window of a sequence: (steps, features) -> (steps', features).
struct MaxPooling1D : Layer {
  /// Throws InvalidArgument for a size below 1.
  explicit MaxPooling1D(const Pooling1DOptions& options = {});
  /// Makes `MaxPooling1D({})` use the default options.
  explicit MaxPooling1D(Defaults) : MaxPooling1D() {}
};

/// The mean of each window of a sequence, padding not counted: (steps, features) -> (steps', features).
struct AveragePooling1D : Layer {
  /// Throws InvalidArgument for a size below 1.
  explicit AveragePooling1D(const Pooling1DOptions& options = {});
  /// Makes `AveragePooling1D({})` use the default options.
  explicit AveragePooling1D(Defaults) : AveragePooling1D() {}
};

/// GlobalMaxPooling1D's and GlobalAveragePooling1D's options.
struct GlobalPooling1DOptions {
  bool keepdims = false;  ///< returns (1, features) instead of (features)
  /// Name of the layer; if empty, the model derives one from the class name.
  std::string name{};
  void describe(LayerConfig& config);  ///< writes or reads the options
};

/// The largest element of each feature: (steps, features) -> (features). Sequences must have at least one step.
struct GlobalMaxPooling1D : Layer {
  /// A call throws InvalidArgument for empty sequences.
  explicit GlobalMaxPooling1D(const GlobalPooling1DOptions& options = {});
  /// Makes `GlobalMaxPooling1D({})` use the default options.
  explicit GlobalMaxPooling1D(Defaults) : GlobalMaxPooling1D() {}
};

/// The mean of each feature over the steps that are not masked: (steps, features) -> (features). 0 if all steps are
/// masked (NaN in Keras). Sequences must have at least one step.
struct GlobalAveragePooling1D : Layer {
  /// A call throws InvalidArgument for empty sequences.
  explicit GlobalAveragePooling1D(const GlobalPooling1DOptions& options = {});
  /// Makes `GlobalAveragePooling1D({})` use the default options.
  explicit GlobalAveragePooling1D(Defaults) : GlobalAveragePooling1D() {}
};

}  // namespace lockstep
