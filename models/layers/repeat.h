#pragma once

#include <cstdint>
#include <string>

#include <lockstep/kernels/image/resize.h>
#include <lockstep/kernels/window/window.h>
#include <lockstep/models/layers/layer.h>
#include <lockstep/runtime/core/defaults.h>

// Layers that return their input or repeat its elements.

namespace lockstep {

/// Returns its input.
struct Identity : Layer {
  /// Takes any shape.
  explicit Identity(std::string name = {});
  /// Makes `Identity({})` use the default name.
  explicit Identity(Defaults) : Identity() {}
};

/// RepeatVector's options.
struct RepeatVectorOptions {
  std::int64_t n = 0;  ///< required
  /// Name of the layer; if empty, the model derives one from the class name.
  std::string name{};
  void describe(LayerConfig& config);  ///< writes or reads the options
};

/// Repeats a vector n times: (features) -> (n, features).
struct RepeatVector : Layer {
  /// Throws InvalidArgument for an n below 1.
  explicit RepeatVector(const RepeatVectorOptions& options);
};

/// UpSampling1D's options.
struct UpSampling1DOptions {
  std::int64_t size = 2;  ///< number of copies of each step in the result
  /// Name of the layer; if empty, the model derives one from the class name.
  std::string name{};
  void describe(LayerConfig& config);  ///< writes or reads the options
};

/// Repeats each step of a sequence: (steps, features) -> (size * steps, features).
struct UpSampling1D : Layer {
  /// Throws InvalidArgument for a size below 1.
  explicit UpSampling1D(const UpSampling1DOptions& options = {});
  /// Makes `UpSampling1D({})` use the default options.
  explicit UpSampling1D(Defaults) : UpSampling1D() {}
};

/// UpSampling2D's options.
struct UpSampling2DOptions {
  Size2d size = 2;                                       ///< factors by which the numbers of rows and columns grow
  Interpolation interpolation = Interpolation::nearest;  ///< see the op resize
  /// Name of the layer; if empty, the model derives one from the class name.
  std::string name{};
  void describe(LayerConfig& config);  ///< writes or reads the options
};

/// Enlarges images with the op resize: (h, w, c) -> (size.height * h, size.width * w, c). `nearest` repeats rows and
/// columns.
struct UpSampling2D : Layer {
  /// Throws InvalidArgument for a size below 1.
  explicit UpSampling2D(const UpSampling2DOptions& options = {});
  /// Makes `UpSampling2D({})` use the default options.
  explicit UpSampling2D(Defaults) : UpSampling2D() {}
};

}  // namespace lockstep
