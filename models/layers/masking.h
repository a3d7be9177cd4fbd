#pragma once

#include <string>
#include <string_view>

#include <lockstep/models/layers/layer.h>
#include <lockstep/runtime/core/defaults.h>

namespace lockstep {

/// Masking's options, with Keras' names.
struct MaskingOptions {
  double mask_value = 0;  ///< a step is masked if all its features have this value
  /// Name of the layer; if empty, the model derives one from the class name.
  std::string name{};
  void describe(LayerConfig& config);  ///< writes or reads the options
};

/// Keras' Masking: masks time steps of sequences (time, features), and sets the features of masked steps to 0. The next
/// layers, if they have LayerTraits::supports_masking, skip these steps or pass the mask on.
struct Masking : Layer {
  /// Throws InvalidArgument for a mask_value that is not finite. A call of the layer throws it for inputs with fewer
  /// axes than (time, features), not counting the batch axis.
  explicit Masking(const MaskingOptions& options = {});
  /// Makes `Masking({})` use the default options.
  explicit Masking(Defaults) : Masking() {}
};

/// Whether Keras passes the masks of inputs to calls of the class.
bool reads_masks(std::string_view class_name);
/// Whether a Softmax in Keras can read the mask that a call of the class is given. It compares a mask of numbers with
/// 0.5; other layers compare it with 0. The ranks are those of the call's input and of its mask.
bool may_mask_softmax(std::string_view class_name, int input_rank, int mask_rank);

}  // namespace lockstep
