#pragma once

#include <lockstep/runtime/data/dataset.h>

// Transforms for Dataset::map, before or after batch(). They return x as f32 and leave y unchanged, and throw
// InvalidArgument for x that is not dense. Means and variances must be dense and in host memory.

namespace lockstep {

/// Mean and variance of images, by channel.
struct ChannelStatistics {
  Tensor mean{};      ///< (channels) f32
  Tensor variance{};  ///< (channels) f32
};

/// Mean and variance of each channel over dense images (..., channels), u8 or f32, in host memory, in the images'
/// units: the values that Keras' Normalization.adapt() computes. Sums in f64. Throws InvalidArgument unless `images` is
/// u8 or f32, for a scalar, and for an empty tensor.
ChannelStatistics channel_statistics(const Tensor& images);

/// (x - mean) / max(sqrt(variance), 1e-7) by channel, for x (..., channels) u8 or f32: Keras' Normalization. Throws
/// InvalidArgument unless mean and variance are (channels) f32. The returned function throws it unless x is u8 or f32
/// and has as many channels as the mean.
RowTransform channel_normalization(const ChannelStatistics& statistics);

/// rescaling's options, the same as in Keras' Rescaling.
struct RescalingOptions {
  float scale = 1;   ///< factor of each value
  float offset = 0;  ///< added to the scaled value
};

/// x * scale + offset, for x u8 or f32 of any shape: Keras' Rescaling. Throws InvalidArgument unless scale and offset
/// are finite; the returned function throws it unless x is u8 or f32.
RowTransform rescaling(const RescalingOptions& options);

/// Subtracts `mean`, usually mean_image() of the training images: x / 255 - mean for u8 x, x - mean for f32 x. x has
/// the mean's shape or, after batch(), (n, the mean's shape). Throws InvalidArgument for a mean that is not f32; the
/// returned function throws it unless x is u8 or f32 and has such a shape.
RowTransform mean_subtraction(const Tensor& mean);

}  // namespace lockstep
