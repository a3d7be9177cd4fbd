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
/// Whether Keras' class multiplies by its mask, so that a mask of numbers other than 0 and 1 is not that of truth
/// values.
bool multiplies_by_mask(std::string_view class_name);

}  // namespace lockstep
