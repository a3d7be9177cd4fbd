#pragma once

#include <cstdint>

#include <lockstep/models/training/model.h>

/// Models from well-known papers and programs.
namespace lockstep::zoo {

/// mini_googlenet's options.
struct MiniGoogLeNetOptions {
  /// Dropout rate before the last layer.
  double dropout = 0.5;
  /// Momentum of all batch normalizations. The layer's default, Keras' 0.99, is too slow for runs of a few hundred
  /// steps: after 300 steps the initial values (mean 0, variance 1) still have a weight of 0.99^300 = 5 % in the moving
  /// statistics, which also lag behind the weights. The errors of the network's nineteen batch normalizations add up,
  /// so that inference does not reflect the training. 0.9 forgets the initial values within 50 steps. With either
  /// momentum, the moving statistics follow Keras' formula.
  double batch_norm_momentum = 0.9;
  std::uint64_t seed = 0;  ///< seed of the initial weights and of dropout
};

/// The small Inception network of Zhang et al., "Understanding deep learning requires rethinking generalization"
/// (2017): (height, width, channels) -> (classes) logits, for losses with `from_logits`. 1,656,250 parameters for (32,
/// 32, 3) and 10 classes. Throws InvalidArgument for images smaller than 31 x 31.
Model mini_googlenet(const Shape& input, int classes, const MiniGoogLeNetOptions& options = {});

}  // namespace lockstep::zoo
