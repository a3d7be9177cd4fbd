#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep {

/// Reads a JPEG, PNG or BMP image, recognized by its first bytes, as (height, width, channels) u8. With 1 channel, the
/// result is gray; with 3 channels, it is RGB. Gray, palette, color and CMYK images are converted, and alpha is
/// dropped. Throws InputError, which names the file, if it cannot be read, has another format, is damaged or cut short,
/// is a compressed BMP, or has more than 2^27 pixels. Throws InvalidArgument for channels other than 1 and 3.
Tensor read_image(const std::filesystem::path& file, std::int64_t channels = 3);
/// Same as read_image, for the content of a file in memory. Errors name no file.
Tensor decode_image(std::span<const std::byte> content, std::int64_t channels = 3);
/// Reads a mask, an image whose pixels are class numbers, as (height, width, 1) u8: the PNG file's gray values, which
/// are not scaled, or its palette indices, with at most 8 bits per pixel. Throws InputError, which names the file, for
/// the same reasons as read_image, for formats other than PNG, and for PNG files with alpha, with color but no palette,
/// or with 16 bits per channel.
Tensor read_mask(const std::filesystem::path& file);
/// Writes an image (height, width, channels) u8, gray with 1 channel or RGB with 3, as a PNG file. The file is written
/// whole or not at all. Throws InvalidArgument if the image has another shape or dtype, no pixels, or more than 2^27
/// pixels. Throws InputError, which names the file, if it cannot be written.
void write_image(const std::filesystem::path& file, const Tensor& image);

}  // namespace lockstep
