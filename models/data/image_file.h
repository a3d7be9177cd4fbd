#pragma once

#include <cstdint>
#include <filesystem>

#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep {

/// A JPEG, PNG or BMP image, recognized by its first bytes, as (height, width, channels) u8: 1 channel is gray, 3 are
/// red, green and blue, for any file; alpha is left out. Throws InputError, which names the file, when it
/// cannot be read, is another format, is damaged or cut short, in CMYK, a compressed BMP, or has more than 2^27 pixels;
/// InvalidArgument for other channels.
Tensor read_image(const std::filesystem::path& file, std::int64_t channels = 3);

}  // namespace lockstep
