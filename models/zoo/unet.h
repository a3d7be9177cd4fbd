#pragma once

#include <cstdint>

#include <lockstep/models/training/model.h>

namespace lockstep::zoo {

/// unet's options.
struct UNetOptions {
  std::int64_t filters = 64;  ///< filters of the first convolutions; doubled at each lower level
  std::int64_t levels = 4;    ///< number of times that height and width are halved
  /// Momentum of all batch normalizations; see MiniGoogLeNetOptions.
  double batch_norm_momentum = 0.9;
  /// Batch normalizations use the statistics of the global batch (BatchNormalizationOptions::synchronized), which helps
  /// if replicas have few images each. Keras opens files of such models only with its TensorFlow backend.
  bool synchronized = false;
  std::uint64_t seed = 0;  ///< seed of the initial weights
};

/// The U-Net of Ronneberger et al. 2015, with a batch normalization after each convolution and with padded
/// convolutions, so that the result is as large as the image: images (height, width, channels) -> (height, width,
/// classes), the logits of each pixel, for losses with `from_logits`. 31,037,698 trainable parameters for three
/// channels and two classes. A height or width of -1 may differ between batches. Throws InvalidArgument for sides that
/// are not multiples of 2^levels, for sizes below 1, and for more than 16 levels.
Model unet(const Shape& input, int classes, const UNetOptions& options = {});

}  // namespace lockstep::zoo
