#pragma once

#include <optional>
#include <string>

#include <lockstep/kernels/convolution/conv2d.h>
#include <lockstep/models/layers/layer.h>
#include <lockstep/runtime/core/defaults.h>

namespace lockstep {

/// MaxPooling2D's and AveragePooling2D's options.
struct Pooling2DOptions {
  ///@{
  /// Keras' arguments of these names, with its defaults where it has any.
  Size2d pool_size = 2;
  std::optional<Size2d> strides{};  ///< default: pool_size
  Padding padding = Padding::valid;
  std::string name{};
  ///@}
};

/// The largest element of each window: (h, w, c) -> (h', w', c).
struct MaxPooling2D : Layer {
  /// Throws InvalidArgument for a size below 1.
  explicit MaxPooling2D(const Pooling2DOptions& options = {});
  /// Of all defaults: MaxPooling2D({}).
  explicit MaxPooling2D(Defaults) : MaxPooling2D() {}
  /// From a file's options.
  static MaxPooling2D from_config(LayerConfig& config);
};

/// The mean of each window, padding not counted: (h, w, c) -> (h', w', c).
struct AveragePooling2D : Layer {
  /// Throws InvalidArgument for a size below 1.
  explicit AveragePooling2D(const Pooling2DOptions& options = {});
  /// Of all defaults: AveragePooling2D({}).
  explicit AveragePooling2D(Defaults) : AveragePooling2D() {}
  /// From a file's options.
  static AveragePooling2D from_config(LayerConfig& config);
};

/// GlobalMaxPooling2D's and GlobalAveragePooling2D's options.
struct GlobalPooling2DOptions {
  bool keepdims = false;  ///< (1, 1, c) instead of (c)
  /// Of the layer; the model makes one from the class where it is empty.
  std::string name{};
};

/// The largest element of each channel: (h, w, c) -> (c).
struct GlobalMaxPooling2D : Layer {
  /// Of images of any size.
  explicit GlobalMaxPooling2D(const GlobalPooling2DOptions& options = {});
  /// Of all defaults: GlobalMaxPooling2D({}).
  explicit GlobalMaxPooling2D(Defaults) : GlobalMaxPooling2D() {}
  /// From a file's options.
  static GlobalMaxPooling2D from_config(LayerConfig& config);
};

/// The mean of each channel: (h, w, c) -> (c).
struct GlobalAveragePooling2D : Layer {
  /// Of images of any size.
  explicit GlobalAveragePooling2D(const GlobalPooling2DOptions& options = {});
  /// Of all defaults: GlobalAveragePooling2D({}).
  explicit GlobalAveragePooling2D(Defaults) : GlobalAveragePooling2D() {}
  /// From a file's options.
  static GlobalAveragePooling2D from_config(LayerConfig& config);
};

}  // namespace lockstep
