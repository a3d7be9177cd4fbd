#pragma once

#include <string>

#include <lockstep/models/layers/layer.h>
#include <lockstep/runtime/core/defaults.h>

namespace lockstep {

/// Concatenate's options.
struct ConcatenateOptions {
  int axis = -1;  ///< counts the batch axis, which is 0, as in Keras
  /// Of the layer; the model makes one from the class where it is empty.
  std::string name{};
};

/// Joins its inputs along an axis; their other sizes must agree. Along the last axis no copy is made where all inputs
/// come from layers that can write into their slice of the result.
struct Concatenate : Layer {
  /// Throws InvalidArgument for the batch axis.
  explicit Concatenate(const ConcatenateOptions& options = {});
  /// Of all defaults: Concatenate({}).
  explicit Concatenate(Defaults) : Concatenate() {}
  /// From a file's options.
  static Concatenate from_config(LayerConfig& config);
};

/// The sum of its inputs, which must be of one shape.
struct Add : Layer {
  /// Takes two inputs or more.
  explicit Add(std::string name = {});
  /// Of all defaults: Add({}).
  explicit Add(Defaults) : Add() {}
  /// From a file's options.
  static Add from_config(LayerConfig& config);
};

}  // namespace lockstep
