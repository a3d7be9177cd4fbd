#pragma once

#include <cstdint>
#include <string>

#include <lockstep/kernels/image/resize.h>
#include <lockstep/models/layers/layer.h>

namespace lockstep {

/// Resizing's options.
struct ResizingOptions {
  ///@{
  /// Keras' arguments, with the same names and defaults.
  std::int64_t height = 0;  ///< required
  std::int64_t width = 0;   ///< required
  Interpolation interpolation = Interpolation::bilinear;
  bool crop_to_aspect_ratio = false;
  bool pad_to_aspect_ratio = false;
  double fill_value = 0;
  bool antialias = false;
  std::string name{};
  ///@}
  void describe(LayerConfig& config);  ///< writes or reads the options
};

/// Applies the op resize: (h, w, c) -> (height, width, c).
struct Resizing : Layer {
  /// Throws InvalidArgument for sizes below 1, and for crop_to_aspect_ratio and pad_to_aspect_ratio together. A call
  /// throws InvalidArgument for images without pixels, and the errors of resize.
  explicit Resizing(const ResizingOptions& options);
};

/// CenterCrop's options.
struct CenterCropOptions {
  std::int64_t height = 0;  ///< required
  std::int64_t width = 0;   ///< required
  /// Name of the layer; if empty, the model derives one from the class name.
  std::string name{};
  void describe(LayerConfig& config);  ///< writes or reads the options
};

/// Cuts out the middle of images: (h, w, c) -> (height, width, c). If the images are lower or narrower than the result,
/// applies the op resize with crop_to_aspect_ratio instead.
struct CenterCrop : Layer {
  /// Throws InvalidArgument for sizes below 1. A call throws InvalidArgument for images without pixels and, where it
  /// resizes them, the errors of resize.
  explicit CenterCrop(const CenterCropOptions& options);
};

}  // namespace lockstep
