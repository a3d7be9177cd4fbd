#pragma once

#include <cstdint>

#include <lockstep/kernels/array/elementwise.h>
#include <lockstep/models/training/model.h>

namespace lockstep::zoo {

/// resnet50's options.
struct ResNet50Options {
  Shape input_shape{224, 224, 3};                          ///< (height, width, channels), at least 32 x 32
  std::int64_t classes = 1000;                             ///< units of the last layer
  Activation classifier_activation = Activation::softmax;  ///< linear: logits, for losses with `from_logits`
  std::uint64_t seed = 0;                                  ///< seed of the initial weights
};

/// keras.applications.ResNet50 (He et al. 2015, with the strides in the first convolution of a block and with biases in
/// all convolutions): images -> (classes). Layers have the same names as in Keras. 25,636,712 parameters by default.
/// Throws InvalidArgument for images smaller than 32 x 32.
Model resnet50(const ResNet50Options& options = {});

}  // namespace lockstep::zoo
