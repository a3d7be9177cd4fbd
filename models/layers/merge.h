#pragma once

#include <string>

#include <lockstep/models/layers/layer.h>
#include <lockstep/runtime/core/defaults.h>

namespace lockstep {

/// Concatenate's options.
struct ConcatenateOptions {
  int axis = -1;  ///< as in Keras, axis 0 is the batch axis
  /// Name of the layer; if empty, the model derives one from the class name.
  std::string name{};
};

/// Concatenates its inputs along an axis; their other sizes must agree. Along the last axis no copy is made if all
/// inputs come from layers that can write into their slice of the result.
struct Concatenate : Layer {
  /// Throws InvalidArgument for the batch axis.
  explicit Concatenate(const ConcatenateOptions& options = {});
  /// Lets `Concatenate({})` mean the defaults.
  explicit Concatenate(Defaults) : Concatenate() {}
  /// Makes the layer from the options in a file.
  static Concatenate from_config(LayerConfig& config);
};

/// The sum of its inputs, which must have equal shapes.
struct Add : Layer {
  /// A layer for two or more inputs.
  explicit Add(std::string name = {});
  /// Lets `Add({})` mean the defaults.
  explicit Add(Defaults) : Add() {}
  /// Makes the layer from the options in a file.
  static Add from_config(LayerConfig& config);
};

}  // namespace lockstep
