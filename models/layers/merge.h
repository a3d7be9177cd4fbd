#pragma once

#include <string>

#include <lockstep/models/layers/layer.h>
#include <lockstep/runtime/core/defaults.h>

namespace lockstep {

/// Concatenate's options.
struct ConcatenateOptions {
  int axis = -1;  ///< 0, the batch axis, is not allowed; negative axes count from the end
  /// Name of the layer; if empty, the model derives one from the class name.
  std::string name{};
  void describe(LayerConfig& config);  ///< writes or reads the options
};

/// Concatenates its inputs along an axis; their other sizes must agree. Along the last axis, the layers that compute
/// the inputs may write directly into the result (plan_steps).
struct Concatenate : Layer {
  /// Throws InvalidArgument for the batch axis.
  explicit Concatenate(const ConcatenateOptions& options = {});
  /// Makes `Concatenate({})` use the default options.
  explicit Concatenate(Defaults) : Concatenate() {}
};

// Layers that combine two or more inputs element by element. As in Keras, the shapes of examples broadcast by NumPy's
// rules: (4, 4, 3) and (3) give (4, 4, 3). At each time step, Maximum, Minimum and Multiply leave out the inputs that
// are masked at that step.

/// The sum of its inputs.
struct Add : Layer {
  /// A layer for two or more inputs.
  explicit Add(std::string name = {});
  /// Makes `Add({})` use the default name.
  explicit Add(Defaults) : Add() {}
};

/// The mean of its inputs.
struct Average : Layer {
  /// A layer for two or more inputs.
  explicit Average(std::string name = {});
  /// Makes `Average({})` use the default name.
  explicit Average(Defaults) : Average() {}
};

/// The largest of its inputs; NaN if one of them is NaN.
struct Maximum : Layer {
  /// A layer for two or more inputs.
  explicit Maximum(std::string name = {});
  /// Makes `Maximum({})` use the default name.
  explicit Maximum(Defaults) : Maximum() {}
};

/// The smallest of its inputs; NaN if one of them is NaN.
struct Minimum : Layer {
  /// A layer for two or more inputs.
  explicit Minimum(std::string name = {});
  /// Makes `Minimum({})` use the default name.
  explicit Minimum(Defaults) : Minimum() {}
};

/// The product of its inputs.
struct Multiply : Layer {
  /// A layer for two or more inputs.
  explicit Multiply(std::string name = {});
  /// Makes `Multiply({})` use the default name.
  explicit Multiply(Defaults) : Multiply() {}
};

/// The first input minus the second.
struct Subtract : Layer {
  /// A layer for two inputs.
  explicit Subtract(std::string name = {});
  /// Makes `Subtract({})` use the default name.
  explicit Subtract(Defaults) : Subtract() {}
};

}  // namespace lockstep
