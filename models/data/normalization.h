#pragma once

#include <lockstep/runtime/data/dataset.h>

// Functions for Dataset::map, before or after batch(): x in, f32 out; y stays.

namespace lockstep {

/// Of images, by channel.
struct ChannelStatistics {
  Tensor mean{};      ///< (channels) f32
  Tensor variance{};  ///< of the same shape
};

/// Mean and variance of each channel over images (.., channels) u8 or f32, in the images' own units: what Keras'
/// Normalization adapts to. Summed in f64. Throws InvalidArgument for another dtype, a scalar, and no images.
ChannelStatistics channel_statistics(const Tensor& images);

/// (x - mean) / max(sqrt(variance), 1e-7) by channel, for x (.., channels) u8 or f32: Keras' Normalization. Throws
/// InvalidArgument unless both are (channels) f32; the function for other x.
RowTransform channel_normalization(const ChannelStatistics& statistics);

/// Keras' Rescaling.
struct RescalingOptions {
  float scale = 1;   ///< factor of each value
  float offset = 0;  ///< added to the scaled value
};

/// x * scale + offset, for x u8 or f32 of any shape. Throws InvalidArgument unless both are finite; the function for
/// other x.
RowTransform rescaling(const RescalingOptions& options);

/// Subtracts mean_image() of the training images: pixel / 255 - mean for u8, x - mean for f32. x has the mean's shape,
/// after batch() with the axis of examples before. Throws InvalidArgument for a mean that is not f32; the function for
/// other x.
RowTransform mean_subtraction(const Tensor& mean);

}  // namespace lockstep
