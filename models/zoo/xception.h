#pragma once

#include <cstdint>

#include <lockstep/kernels/array/elementwise.h>
#include <lockstep/models/training/model.h>

namespace lockstep::zoo {

/// Options of xception(); the defaults are Keras'.
struct XceptionOptions {
  Shape input_shape{299, 299, 3};                          ///< (height, width, channels), at least 71 x 71
  std::int64_t classes = 1000;                             ///< units of the last layer
  Activation classifier_activation = Activation::softmax;  ///< linear: logits, for losses with `from_logits`
  std::uint64_t seed = 0;                                  ///< seed of the initial weights
};

/// keras.applications.Xception (Chollet 2017): images -> (classes). Layers have the same names as in Keras. 22,910,480
/// parameters by default. Throws InvalidArgument for images smaller than 71 x 71.
Model xception(const XceptionOptions& options = {});

}  // namespace lockstep::zoo
