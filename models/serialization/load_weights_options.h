#pragma once

#include <functional>
#include <string>

#include <lockstep/models/files/stored_weight.h>

namespace lockstep {

/// Options of load_weights. With Keras' skip_mismatch or by_name, weights that do not fit are skipped with a warning
/// instead of an InputError. In legacy `.h5` and `.safetensors` files, only weights whose shape differs from the
/// model's are skipped. In `.weights.h5` and `.keras` files, the weights after such a weight in its group are also
/// skipped. A layer has one group; an attention layer has one group for each of its inner layers.
struct LoadWeightsOptions {
  /// Skips weights whose shape differs, layers whose number of weights differs, and layers that the file or the model
  /// lacks. As in Keras, legacy `.h5` files must have as many layers with weights as the model, unless by_name is set,
  /// too.
  bool skip_mismatch = false;
  /// Matches layers by their names instead of their order, and skips layers that the file or the model lacks. For
  /// Keras' legacy `.h5` files and `.safetensors` files.
  bool by_name = false;
  /// Ignores, without a warning, weights that the model lacks. Has no effect on legacy `.h5` files. As in Keras, layers
  /// in `.weights.h5` and `.keras` files are matched by their class and their number among the layers of this class.
  bool ignore_extra = false;
  /// Returns the name that the weight "layer/variable" has in the file, and the permutation of axes that turns the
  /// file's tensor into the weight. If the function is empty, the file has the model's names and axis orders. For
  /// `.safetensors` files.
  std::function<StoredWeight(const std::string& name)> stored_as{};

  /// Logs the message as a warning if skip_mismatch is set, or if by_name is set and `is_missing` is true; otherwise
  /// throws it as an InputError. `is_missing`: the file lacks a layer or weight of the model, or the model lacks a
  /// layer or weight of the file.
  void skip(const std::string& message, bool is_missing) const;
};

}  // namespace lockstep
