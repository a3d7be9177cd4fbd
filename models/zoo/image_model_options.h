#pragma once

#include <cstdint>
#include <string>

#include <lockstep/kernels/activation.h>
#include <lockstep/runtime/core/shape.h>

namespace lockstep::zoo {

/// Output of a model of keras.applications without its top: the result of its last block (h, w, c), or the mean or the
/// maximum of each of its channels (c).
enum class FeaturePooling : std::uint8_t { none, avg, max };

/// Options of the models of keras.applications, with Keras' names and, except for `weights`, Keras' defaults.
/// `seed` is lockstep's own.
struct ImageModelOptions {
  bool include_top = true;  ///< whether the model ends in its classifier
  /// Path of a file that load_weights() reads, as Keras saves or publishes it for the same options; empty: random
  /// initial weights. Nothing is downloaded. Without the top, the file may also have the top's weights, unless it is a
  /// legacy `.h5` file.
  std::string weights{};
  /// (height, width, channels). Empty: 3 channels, and the size for which the model was designed or, without the top,
  /// any size. Without the top, height and width may be -1, for any size. nasnet.h and mobilenet_v3.h name exceptions.
  Shape input_shape{};
  FeaturePooling pooling = FeaturePooling::none;           ///< must be none with include_top
  std::int64_t classes = 1000;                             ///< number of classes; not read without the top
  Activation classifier_activation = Activation::softmax;  ///< linear: logits, for losses with `from_logits`
  std::string name{};                                      ///< name of the model; empty: Keras' name
  std::uint64_t seed = 0;                                  ///< seed of the initial weights and of dropout
};

}  // namespace lockstep::zoo
