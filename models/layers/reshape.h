#pragma once

#include <string>

#include <lockstep/kernels/array/array.h>
#include <lockstep/models/layers/layer.h>
#include <lockstep/runtime/core/defaults.h>

namespace lockstep {

/// Reshape's options.
struct ReshapeOptions {
  Shape target_shape{};  ///< without the batch axis; one size may be -1
  /// Of the layer; the model makes one from the class where it is empty.
  std::string name{};
};

/// The same elements of each example in another shape.
struct Reshape : Layer {
  /// Throws InvalidArgument for a negative size other than one -1.
  explicit Reshape(const ReshapeOptions& options);
  /// From a file's options.
  static Reshape from_config(LayerConfig& config);
};

/// ZeroPadding2D's options.
struct ZeroPadding2DOptions {
  /// Not negative.
  Borders2d padding = 1;
  /// Of the layer; the model makes one from the class where it is empty.
  std::string name{};
};

/// Zeros around each image: (h, w, c) -> (top + h + bottom, left + w + right, c).
struct ZeroPadding2D : Layer {
  /// Throws InvalidArgument for a negative border.
  explicit ZeroPadding2D(const ZeroPadding2DOptions& options = {});
  /// Of all defaults: ZeroPadding2D({}).
  explicit ZeroPadding2D(Defaults) : ZeroPadding2D() {}
  /// From a file's options.
  static ZeroPadding2D from_config(LayerConfig& config);
};

}  // namespace lockstep
