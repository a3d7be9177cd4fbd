#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <lockstep/runtime/tensor/tensor.h>

// The decoders of read_image. They throw InputError, without a file name, for content that is damaged, cut short or too
// short for the size in its header, and for an image that is too large for empty_image.

namespace lockstep {

/// Whether content begins as a JPEG, PNG or BMP file.
bool is_image(std::span<const std::byte> content);

/// Decodes the content of a JPEG file to (height, width, channels) u8 with 1 or 3 channels. CMYK and YCCK images are
/// converted without a color profile: red = (255 - cyan) * (255 - black) / 255, and so on.
Tensor decode_jpeg(std::span<const std::byte> content, std::int64_t channels);

/// Decodes the content of a PNG file to (height, width, channels) u8 with 1 or 3 channels, as tf.io.decode_png does:
/// looks up palettes, keeps the high 8 of 16 bits and drops alpha. Converts color to gray by the weights of BT.601, as
/// JPEG does.
Tensor decode_png(std::span<const std::byte> content, std::int64_t channels);

/// Decodes the content of a PNG file to (height, width, 1) u8 with the numbers that the file stores: gray values, which
/// are not scaled, or palette indices. Throws InputError for PNG files with alpha, with color but no palette, or with
/// 16 bits per channel.
Tensor decode_png_mask(std::span<const std::byte> content);

/// Encodes an image (height, width, channels) u8 with 1 or 3 channels, of any strides and on any device, as a PNG file.
std::vector<std::byte> encode_png(const Tensor& image);

/// Decodes the content of a BMP file to (height, width, channels) u8 with 1 or 3 channels: uncompressed, with 1, 4, 8,
/// 24 or 32 bits per pixel. Looks up palettes and drops alpha.
Tensor decode_bmp(std::span<const std::byte> content, std::int64_t channels);

/// Converts (height, width, 3) u8 to gray (height, width, 1), by the weights of BT.601.
Tensor gray_of(const Tensor& image);

/// Allocates a u8 image to decode into. Throws InputError for more than 2^27 pixels, which a small damaged file can
/// claim to have.
Tensor empty_image(std::int64_t height, std::int64_t width, std::int64_t channels);

}  // namespace lockstep
