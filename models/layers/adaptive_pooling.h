#pragma once

#include <cstdint>
#include <string>

#include <lockstep/kernels/window/window.h>
#include <lockstep/models/layers/layer.h>

// Pooling to a given size. Along an axis of n >= 1 elements, element i of the m results pools the elements j with
// floor(i * n / m) <= j < ceil((i + 1) * n / m). Windows may overlap.

namespace lockstep {

/// AdaptiveMaxPooling1D's and AdaptiveAveragePooling1D's options.
struct AdaptivePooling1DOptions {
  std::int64_t output_size = 0;  ///< steps of the result; required
  /// Name of the layer; if empty, the model derives one from the class name.
  std::string name{};
  void describe(LayerConfig& config);  ///< writes or reads the options
};

/// The largest element of each window of a sequence: (steps, features) -> (output_size, features).
struct AdaptiveMaxPooling1D : Layer {
  /// Throws InvalidArgument for an output_size below 1.
  explicit AdaptiveMaxPooling1D(const AdaptivePooling1DOptions& options);
};

/// The mean of each window of a sequence: (steps, features) -> (output_size, features).
struct AdaptiveAveragePooling1D : Layer {
  /// Throws InvalidArgument for an output_size below 1.
  explicit AdaptiveAveragePooling1D(const AdaptivePooling1DOptions& options);
};

/// AdaptiveMaxPooling2D's and AdaptiveAveragePooling2D's options.
struct AdaptivePooling2DOptions {
  Size2d output_size{};  ///< rows and columns of the result; required
  /// Name of the layer; if empty, the model derives one from the class name.
  std::string name{};
  void describe(LayerConfig& config);  ///< writes or reads the options
};

/// The largest element of each window: (h, w, c) -> (output_size.height, output_size.width, c).
struct AdaptiveMaxPooling2D : Layer {
  /// Throws InvalidArgument for an output_size below 1.
  explicit AdaptiveMaxPooling2D(const AdaptivePooling2DOptions& options);
};

/// The mean of each window: (h, w, c) -> (output_size.height, output_size.width, c).
struct AdaptiveAveragePooling2D : Layer {
  /// Throws InvalidArgument for an output_size below 1.
  explicit AdaptiveAveragePooling2D(const AdaptivePooling2DOptions& options);
};

}  // namespace lockstep
