#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <lockstep/runtime/tensor/tensor.h>

// The decoders behind read_image. They throw InputError, without a file's name, for what is damaged or cut short, and
// for an image too large for empty_image or for its bytes.

namespace lockstep {

/// A JPEG file's content as (height, width, channels) u8 with 1 or 3 channels. CMYK images are refused.
Tensor decode_jpeg(std::span<const std::byte> content, std::int64_t channels);

/// A PNG file's content as (height, width, channels) u8 with 1 or 3 channels: palettes looked up, of 16 bits the high
/// 8, alpha left out, as tf.io.decode_png does; gray from color by the weights of BT.601, as in JPEG.
Tensor decode_png(std::span<const std::byte> content, std::int64_t channels);

/// A BMP file's content as (height, width, channels) u8 with 1 or 3 channels: of 1, 4, 8, 24 or 32 bits a pixel, not
/// compressed, palettes looked up, alpha left out.
Tensor decode_bmp(std::span<const std::byte> content, std::int64_t channels);

/// (height, width, 3) u8 to (height, width, 1), by the weights of BT.601.
Tensor gray_of(const Tensor& image);

/// Memory for a decoded image. Throws InputError for more than 2^27 pixels, which a small file can claim to hold.
Tensor empty_image(std::int64_t height, std::int64_t width, std::int64_t channels);

}  // namespace lockstep
