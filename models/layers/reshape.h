#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <lockstep/kernels/array/array.h>
#include <lockstep/models/layers/layer.h>
#include <lockstep/runtime/core/defaults.h>

namespace lockstep {

/// Reshape's options.
struct ReshapeOptions {
  Shape target_shape{};  ///< without the batch axis; one size may be -1, which is computed from the others
  /// Name of the layer; if empty, the model derives one from the class name.
  std::string name{};
  void describe(LayerConfig& config);  ///< writes or reads the options
};

/// Gives each example another shape with the same elements in the same order.
struct Reshape : Layer {
  /// Throws InvalidArgument for a size below -1, and for more than one -1. A call throws it for a size of 0 and for
  /// examples with another number of elements.
  explicit Reshape(const ReshapeOptions& options);
};

/// Permute's options.
struct PermuteOptions {
  std::vector<std::int64_t> dims{};  ///< order of the axes; 1 is the first axis after the batch axis
  /// Name of the layer; if empty, the model derives one from the class name.
  std::string name{};
  void describe(LayerConfig& config);  ///< writes or reads the options
};

/// Permutes the axes of each example: axis i + 1 of the result is axis dims[i] of the input. Returns a view.
struct Permute : Layer {
  /// Throws InvalidArgument unless `dims` has each number from 1 to its size once. A call throws it unless `dims` has a
  /// number for each axis of an example.
  explicit Permute(const PermuteOptions& options);
};

/// Widths of borders of a sequence, in steps.
struct Borders1d {
  /// The same width on both sides, as in Keras.
  constexpr Borders1d(std::int64_t both) : Borders1d(both, both) {}  // NOLINT: implicit
  /// A width for each side.
  constexpr Borders1d(std::int64_t before, std::int64_t after) : before(before), after(after) {}

  ///@{
  /// Steps at the beginning and at the end.
  std::int64_t before, after;
  ///@}
};

/// ZeroPadding2D's options.
struct ZeroPadding2DOptions {
  /// Rows and columns of zeros on each side; not negative.
  Borders2d padding = 1;
  /// Name of the layer; if empty, the model derives one from the class name.
  std::string name{};
  void describe(LayerConfig& config);  ///< writes or reads the options
};

/// Adds zeros around each image: (h, w, c) -> (top + h + bottom, left + w + right, c).
struct ZeroPadding2D : Layer {
  /// Throws InvalidArgument for a negative border.
  explicit ZeroPadding2D(const ZeroPadding2DOptions& options = {});
  /// Makes `ZeroPadding2D({})` use the default options.
  explicit ZeroPadding2D(Defaults) : ZeroPadding2D() {}
};

/// ZeroPadding1D's options.
struct ZeroPadding1DOptions {
  Borders1d padding = 1;  ///< steps of zeros before and after; not negative
  /// Name of the layer; if empty, the model derives one from the class name.
  std::string name{};
  void describe(LayerConfig& config);  ///< writes or reads the options
};

/// Adds zeros around each sequence: (steps, c) -> (before + steps + after, c).
struct ZeroPadding1D : Layer {
  /// Throws InvalidArgument for a negative border.
  explicit ZeroPadding1D(const ZeroPadding1DOptions& options = {});
  /// Makes `ZeroPadding1D({})` use the default options.
  explicit ZeroPadding1D(Defaults) : ZeroPadding1D() {}
};

/// Cropping1D's options.
struct Cropping1DOptions {
  Borders1d cropping = 1;  ///< steps to remove before and after; not negative
  /// Name of the layer; if empty, the model derives one from the class name.
  std::string name{};
  void describe(LayerConfig& config);  ///< writes or reads the options
};

/// Removes steps at both ends of each sequence: (steps, c) -> (steps - before - after, c). Returns a view.
struct Cropping1D : Layer {
  /// Throws InvalidArgument for a negative border; a call throws it if no step is left.
  explicit Cropping1D(const Cropping1DOptions& options = {});
  /// Makes `Cropping1D({})` use the default options.
  explicit Cropping1D(Defaults) : Cropping1D() {}
};

/// Cropping2D's options.
struct Cropping2DOptions {
  /// Rows and columns to remove on each side; not negative.
  Borders2d cropping = 0;
  /// Name of the layer; if empty, the model derives one from the class name.
  std::string name{};
  void describe(LayerConfig& config);  ///< writes or reads the options
};

/// Removes the borders of each image: (h, w, c) -> (h - top - bottom, w - left - right, c). Returns a view.
struct Cropping2D : Layer {
  /// Throws InvalidArgument for a negative border; a call throws it if no row or no column is left.
  explicit Cropping2D(const Cropping2DOptions& options = {});
  /// Makes `Cropping2D({})` use the default options.
  explicit Cropping2D(Defaults) : Cropping2D() {}
};

}  // namespace lockstep
