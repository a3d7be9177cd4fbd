#include "lockstep/models/data/image_file.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <span>
#include <vector>

#include <lockstep/models/data/image_codec.h>
#include <lockstep/runtime/core/atomic_file.h>
#include <lockstep/runtime/core/error.h>
#include <lockstep/runtime/core/regular_file.h>
#include <lockstep/runtime/data/host_context.h>

namespace lockstep {
namespace {

std::vector<std::byte> content_of(const std::filesystem::path& file) {
  require_regular_file(file);
  std::ifstream stream(file, std::ios::binary);
  require<InputError>(stream.is_open(), "cannot be opened: {}", std::strerror(errno));
  std::error_code error;
  const std::uintmax_t bytes = std::filesystem::file_size(file, error);
  require<InputError>(!error, "its size is unknown: {}", error.message());
  std::vector<std::byte> content(bytes);
  stream.read(reinterpret_cast<char*>(content.data()), static_cast<std::streamsize>(bytes));
  require<InputError>(stream.gcount() == static_cast<std::streamsize>(bytes), "reading failed after {} of {} bytes",
                      stream.gcount(), bytes);
  return content;
}

constexpr std::int64_t most_pixels = std::int64_t{1} << 27;

constexpr std::array jpeg_signature{0xff, 0xd8, 0xff};
constexpr std::array png_signature{0x89, 'P' + 0, 'N' + 0, 'G' + 0};
constexpr std::array bmp_signature{'B' + 0, 'M' + 0};

/// Returns convert(), whose errors get the name of the file.
template <class Convert>
auto naming(const std::filesystem::path& file, const Convert& convert) {
  try {
    return convert();
  } catch (Error& error) {
    error.add_context(file.string());
    throw;
  }
}

template <std::size_t Count>
bool starts_with(std::span<const std::byte> content, const std::array<int, Count>& signature) {
  return content.size() >= Count && std::equal(signature.begin(), signature.end(), content.begin(),
                                               [](int a, std::byte b) { return a == std::to_integer<int>(b); });
}

}  // namespace

Tensor empty_image(std::int64_t height, std::int64_t width, std::int64_t channels) {
  require<InputError>(width <= most_pixels / std::max<std::int64_t>(1, height),
                      "an image of {} x {} pixels, which is more than {}", height, width, most_pixels);
  return Tensor::empty({height, width, channels}, DType::u8, detail::host_context().device);
}

Tensor gray_of(const Tensor& image) {
  Tensor gray = empty_image(image.dim(0), image.dim(1), 1);
  const std::uint8_t* rgb = image.data<std::uint8_t>();
  for (std::uint8_t& value : gray.span<std::uint8_t>()) {
    value = static_cast<std::uint8_t>((299 * rgb[0] + 587 * rgb[1] + 114 * rgb[2] + 500) / 1000);
    rgb += 3;
  }
  return gray;
}

bool is_image(std::span<const std::byte> content) {
  return starts_with(content, jpeg_signature) || starts_with(content, png_signature) ||
         starts_with(content, bmp_signature);
}

Tensor decode_image(std::span<const std::byte> content, std::int64_t channels) {
  require(channels == 1 || channels == 3, "an image is read with 1 or 3 channels, not {}", channels);
  if (starts_with(content, jpeg_signature)) return decode_jpeg(content, channels);
  if (starts_with(content, png_signature)) return decode_png(content, channels);
  if (starts_with(content, bmp_signature)) return decode_bmp(content, channels);
  fail<InputError>("no JPEG, PNG or BMP image");
}

Tensor read_image(const std::filesystem::path& file, std::int64_t channels) {
  require(channels == 1 || channels == 3, "an image is read with 1 or 3 channels, not {}", channels);
  return naming(file, [&] { return decode_image(content_of(file), channels); });
}

Tensor read_mask(const std::filesystem::path& file) {
  return naming(file, [&] {
    const std::vector<std::byte> content = content_of(file);
    require<InputError>(starts_with(content, png_signature), "no PNG image, which a mask must be");
    return decode_png_mask(content);
  });
}

void write_image(const std::filesystem::path& file, const Tensor& image) {
  require(
      image.defined() && image.dtype() == DType::u8 && image.rank() == 3 && (image.dim(2) == 1 || image.dim(2) == 3) &&
          image.elements() > 0 && image.dim(1) <= most_pixels / image.dim(0),
      "an image to write must be u8 of shape (height, width, 1 or 3) with 1 to {} pixels, got {}", most_pixels, image);
  write_file_atomically(file.string(), naming(file, [&] { return encode_png(image); }));
}

}  // namespace lockstep
