#pragma once

#include <string>

#include <lockstep/models/layers/layer.h>
#include <lockstep/runtime/core/defaults.h>

namespace lockstep {

/// (...) -> (product of the sizes).
struct Flatten : Layer {
  /// Of any shape; the elements keep their order.
  explicit Flatten(std::string name = {});
  /// Of all defaults: Flatten({}).
  explicit Flatten(Defaults) : Flatten() {}
  /// From a file's options.
  static Flatten from_config(LayerConfig& config);
};

}  // namespace lockstep
