#pragma once

#include <cstdint>

#include <lockstep/models/training/model.h>

namespace lockstep::zoo {

/// small_cnn's options.
struct SmallCnnOptions {
  /// Dropout rate before the last layer.
  double dropout = 0.5;
  std::uint64_t seed = 0;  ///< seed of the initial weights and of dropout
};

/// The convolutional network of Keras' example "Simple MNIST convnet", small enough for a first try on a CPU:
/// (height, width, channels) -> (classes) logits, for losses with `from_logits`. 34,826 parameters for (28, 28, 1) and
/// 10 classes, 42,442 for (32, 32, 3). Throws InvalidArgument for images smaller than 10 x 10.
Model small_cnn(const Shape& input, int classes, const SmallCnnOptions& options = {});

}  // namespace lockstep::zoo
