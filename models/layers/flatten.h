#pragma once

#include <string>

#include <lockstep/models/layers/layer.h>
#include <lockstep/runtime/core/defaults.h>

namespace lockstep {

/// Flattens each example: (...) -> (product of the sizes).
struct Flatten : Layer {
  /// Takes any shape; keeps the elements in order.
  explicit Flatten(std::string name = {});
  /// Makes `Flatten({})` use the default name.
  explicit Flatten(Defaults) : Flatten() {}
  /// Makes the layer from the options in a file.
  static Flatten from_config(LayerConfig& config);
};

}  // namespace lockstep
