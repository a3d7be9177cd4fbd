#pragma once

#include <functional>
#include <string>

#include <lockstep/models/files/stored_weight.h>

namespace lockstep {

/// Options of load_weights. Keras' skip_mismatch and by_name let weights that do not fit be skipped, with warnings,
/// instead of throwing InputError. In `.safetensors` files, each weight is matched and skipped on its own; in other
/// files, the weights of a layer are matched and skipped together.
struct LoadWeightsOptions {
  /// Skips layers whose weights differ from the file's in number or shape, and layers that the file or the model lacks.
  /// As in Keras, legacy `.h5` files must have as many layers with weights as the model, unless by_name is set, too.
  bool skip_mismatch = false;
  /// Matches layers by their names instead of their order, and skips layers that the file or the model lacks. For
  /// Keras' legacy `.h5` files and `.safetensors` files.
  bool by_name = false;
  /// Ignores, without a warning, weights that the model lacks. For `.safetensors` files.
  bool ignore_extra = false;
  /// Where the weight "layer/variable" is in the file. If empty, all weights have their own names in the file, and the
  /// same axes. For `.safetensors` files.
  std::function<StoredWeight(const std::string& name)> stored_as{};

  /// If the options allow skipping, logs the message as a warning; otherwise throws InputError with it. `is_missing`:
  /// the file or the model does not have the layer.
  void skip(const std::string& message, bool is_missing) const;
};

}  // namespace lockstep
