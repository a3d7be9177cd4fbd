#pragma once

#include <string>

namespace lockstep {

/// Keras' options of load_weights. Each lets weights that do not fit be skipped, with warnings, instead of throwing
/// InputError. In `.safetensors` files, each weight is matched and skipped on its own; in other files, the weights of a
/// layer are matched and skipped together.
struct LoadWeightsOptions {
  /// Skips layers whose weights differ from the file's in number or shape, and layers that the file or the model lacks.
  /// As in Keras, legacy `.h5` files must have as many layers with weights as the model, unless by_name is set, too.
  bool skip_mismatch = false;
  /// Matches layers by their names instead of their order, and skips layers that the file or the model lacks. For
  /// Keras' legacy `.h5` files and `.safetensors` files.
  bool by_name = false;

  /// If the options allow skipping, logs the message as a warning; otherwise throws InputError with it. `is_missing`:
  /// the file or the model does not have the layer.
  void skip(const std::string& message, bool is_missing) const;
};

}  // namespace lockstep
