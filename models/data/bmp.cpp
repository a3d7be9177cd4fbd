#include <algorithm>
#include <array>
#include <cstdlib>
#include <vector>

#include <lockstep/models/data/image_codec.h>
#include <lockstep/runtime/core/error.h>

namespace lockstep {
namespace {

using Color = std::array<std::uint8_t, 3>;  ///< red, green, blue

/// Reads the content of a BMP file. Its numbers are little-endian.
class BmpReader {
 public:
  explicit BmpReader(std::span<const std::byte> content) : content_(content) {
    constexpr std::size_t file_header = 14;
    const std::size_t info_header = number(file_header, 4);
    require<InputError>(info_header >= 40, "a BMP image with a header of {} bytes, as before Windows 3", info_header);
    pixels_at_ = number(10, 4);
    width_ = static_cast<std::int32_t>(number(18, 4));
    rows_ = static_cast<std::int32_t>(number(22, 4));
    bits_ = static_cast<std::int64_t>(number(28, 2));
    require<InputError>(width_ >= 1 && rows_ != 0, "a damaged BMP image: it is {} x {} pixels", height(), width_);
    require<InputError>(bits_ == 1 || bits_ == 4 || bits_ == 8 || bits_ == 24 || bits_ == 32,
                        "a BMP image of {} bits a pixel; 1, 4, 8, 24 and 32 are read", bits_);
    check_compression(number(30, 4));
    row_bytes_ = static_cast<std::size_t>((width_ * bits_ + 31) / 32 * 4);
    const std::size_t left = content_.size() - std::min(content_.size(), pixels_at_);
    require<InputError>(left / row_bytes_ >= static_cast<std::size_t>(height()), "a BMP image that is cut short");
    if (bits_ <= 8) read_palette(file_header + info_header);
  }

  /// The number of rows. The file's number is negative if its rows are in order from top to bottom.
  std::int64_t height() const { return std::abs(rows_); }
  std::int64_t width() const { return width_; }

  void read_row(std::int64_t row, std::uint8_t* to) const {
    const std::int64_t in_file = rows_ < 0 ? row : height() - 1 - row;
    const std::byte* const bytes = content_.data() + pixels_at_ + static_cast<std::size_t>(in_file) * row_bytes_;
    for (std::int64_t x = 0; x < width_; ++x)
      for (const std::uint8_t value : color_at(bytes, x)) *to++ = value;
  }

 private:
  std::size_t number(std::size_t at, std::size_t bytes) const {
    require<InputError>(at + bytes <= content_.size(), "a BMP image that is cut short");
    std::size_t value = 0;
    for (std::size_t i = 0; i < bytes; ++i) value |= std::to_integer<std::size_t>(content_[at + i]) << (8 * i);
    return value;
  }

  void check_compression(std::size_t compression) const {
    constexpr std::size_t bit_fields = 3;
    if (compression == 0) return;
    const bool usual = compression == bit_fields && bits_ == 32 && number(54, 4) == 0xff0000 &&
                       number(58, 4) == 0xff00 && number(62, 4) == 0xff;
    require<InputError>(usual, "a compressed BMP image, which is not read");
  }

  void read_palette(std::size_t at) {
    std::size_t colors = number(46, 4);
    if (colors == 0) colors = std::size_t{1} << bits_;
    require<InputError>(colors <= std::size_t{1} << bits_, "a damaged BMP image: {} colors of {} bits", colors, bits_);
    for (std::size_t i = 0; i < colors; ++i) palette_.push_back(from_blue(number(at + 4 * i, 4)));
  }

  static Color from_blue(std::size_t blue_green_red) {
    return {static_cast<std::uint8_t>(blue_green_red >> 16), static_cast<std::uint8_t>(blue_green_red >> 8),
            static_cast<std::uint8_t>(blue_green_red)};
  }

  Color color_at(const std::byte* row, std::int64_t x) const {
    if (bits_ > 8) {
      const std::byte* const pixel = row + x * bits_ / 8;
      return {std::to_integer<std::uint8_t>(pixel[2]), std::to_integer<std::uint8_t>(pixel[1]),
              std::to_integer<std::uint8_t>(pixel[0])};
    }
    const std::int64_t bit = x * bits_;
    const auto byte = std::to_integer<unsigned>(row[bit / 8]);
    const std::size_t index = (byte >> (8 - bits_ - bit % 8)) & ((1U << bits_) - 1);
    require<InputError>(index < palette_.size(), "a damaged BMP image: color {} of {}", index, palette_.size());
    return palette_[index];
  }

  std::span<const std::byte> content_;
  std::size_t pixels_at_ = 0;
  std::int64_t width_ = 0;
  std::int64_t rows_ = 0;
  std::int64_t bits_ = 0;  ///< bits per pixel
  std::size_t row_bytes_ = 0;
  std::vector<Color> palette_;
};

}  // namespace

Tensor decode_bmp(std::span<const std::byte> content, std::int64_t channels) {
  const BmpReader bmp(content);
  Tensor image = empty_image(bmp.height(), bmp.width(), 3);
  std::uint8_t* const pixels = image.data<std::uint8_t>();
  for (std::int64_t row = 0; row < bmp.height(); ++row) bmp.read_row(row, pixels + row * bmp.width() * 3);
  return channels == 3 ? image : gray_of(image);
}

}  // namespace lockstep
