#include <csetjmp>
#include <cstdio>
#include <cstring>
#include <vector>

#include <png.h>

#include <lockstep/models/data/image_codec.h>
#include <lockstep/models/files/deflate.h>
#include <lockstep/runtime/core/error.h>

namespace lockstep {
namespace {

/// On an error libpng jumps out of its functions to `attempt`. Calls that can fail must therefore be made by `attempt`,
/// in functions without objects whose destructors the jump would skip.
class PngReader {
 public:
  explicit PngReader(std::span<const std::byte> content) : left_(content), content_bytes_(content.size()) {
    attempt([](PngReader& self) {
      self.png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, &self, on_error, on_warning);
      self.info_ = self.png_ != nullptr ? png_create_info_struct(self.png_) : nullptr;
    });
    if (info_ == nullptr) png_destroy_read_struct(&png_, nullptr, nullptr);
    require<OutOfMemory>(info_ != nullptr, "no memory for libpng");
  }
  ~PngReader() { png_destroy_read_struct(&png_, &info_, nullptr); }
  PngReader(const PngReader&) = delete;
  PngReader& operator=(const PngReader&) = delete;

  /// Reads the header and requests rows of 8-bit gray or RGB: RGB if `as_rgb` or if the image has colors.
  void read_header(bool as_rgb) {
    as_rgb_ = as_rgb;
    attempt([](PngReader& self) {
      self.read_info();
      self.has_colors_ = (self.color_type_ & PNG_COLOR_MASK_COLOR) != 0;
      if (self.bit_depth_ == 16) png_set_strip_16(self.png_);
      if (self.color_type_ == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(self.png_);
      if (self.color_type_ == PNG_COLOR_TYPE_GRAY) png_set_expand_gray_1_2_4_to_8(self.png_);
      png_set_strip_alpha(self.png_);
      if (self.as_rgb_ && !self.has_colors_) png_set_gray_to_rgb(self.png_);
      self.update_info();
    });
    check_size();
  }
  /// Reads the header and requests rows of the numbers in the file, which are gray values or indices of the palette,
  /// one byte each.
  void read_header_of_mask() {
    attempt([](PngReader& self) {
      self.read_info();
      png_set_packing(self.png_);
      self.update_info();
    });
    require<InputError>(color_type_ != PNG_COLOR_TYPE_GRAY || bit_depth_ <= 8,
                        "a mask must have 8 bits per pixel or fewer, it has {}", bit_depth_);
    require<InputError>(color_type_ == PNG_COLOR_TYPE_GRAY || color_type_ == PNG_COLOR_TYPE_PALETTE,
                        "a mask must have gray values or a palette, it has colors or alpha");
    check_size();
  }
  std::int64_t height() const { return height_; }
  std::int64_t width() const { return width_; }
  std::int64_t channels() const { return as_rgb_ || has_colors_ ? 3 : 1; }

  /// Reads all rows, one after the other.
  void read_rows(std::uint8_t* to) {
    require<BrokenInvariant>(static_cast<std::int64_t>(row_bytes_) == width_ * channels(),
                             "libpng gives {} bytes for a row of {} x {}", row_bytes_, width_, channels());
    rows_.clear();
    for (std::int64_t row = 0; row < height_; ++row) rows_.push_back(to + row * width_ * channels());
    attempt([](PngReader& self) {
      png_read_image(self.png_, self.rows_.data());
      png_read_end(self.png_, nullptr);
    });
  }

 private:
  /// Called by `attempt`.
  void read_info() {
    png_set_read_fn(png_, this, read_some);
    png_read_info(png_, info_);
    color_type_ = png_get_color_type(png_, info_);
    bit_depth_ = png_get_bit_depth(png_, info_);
    packed_row_bytes_ = png_get_rowbytes(png_, info_);
  }

  /// Called by `attempt` after the conversions have been requested.
  void update_info() {
    png_set_interlace_handling(png_);
    png_read_update_info(png_, info_);
    height_ = png_get_image_height(png_, info_);
    width_ = png_get_image_width(png_, info_);
    row_bytes_ = png_get_rowbytes(png_, info_);
  }

  void check_size() const {
    require<InputError>(packed_row_bytes_ * static_cast<std::size_t>(height_) <= content_bytes_ * best_ratio_of_deflate,
                        "a damaged PNG image: it claims to be {} x {} pixels in {} bytes", height_, width_,
                        content_bytes_);
  }

  [[noreturn]] static void on_error(png_structp png, png_const_charp message) {
    auto* self = static_cast<PngReader*>(png_get_error_ptr(png));
    std::snprintf(self->message_, sizeof self->message_, "%s", message);
    std::longjmp(self->jump_, 1);
  }
  static void on_warning(png_structp, png_const_charp) {}

  static void read_some(png_structp png, png_bytep to, std::size_t bytes) {
    auto* self = static_cast<PngReader*>(png_get_io_ptr(png));
    if (bytes > self->left_.size()) png_error(png, "it is cut short");
    std::memcpy(to, self->left_.data(), bytes);
    self->left_ = self->left_.subspan(bytes);
  }

  void attempt(void (*calls)(PngReader& self)) {
    if (setjmp(jump_) != 0) fail<InputError>("a damaged PNG image: {}", message_);
    calls(*this);
  }

  std::span<const std::byte> left_;
  std::size_t content_bytes_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  std::jmp_buf jump_;
  char message_[128] = "";
  int color_type_ = 0;
  int bit_depth_ = 0;
  bool as_rgb_ = false;
  bool has_colors_ = false;
  std::int64_t height_ = 0;
  std::int64_t width_ = 0;
  std::size_t packed_row_bytes_ = 0;  ///< bytes of a row in the file, after decompression
  std::size_t row_bytes_ = 0;         ///< bytes of a row after conversion
  std::vector<png_bytep> rows_;
};

}  // namespace

Tensor decode_png(std::span<const std::byte> content, std::int64_t channels) {
  PngReader png(content);
  png.read_header(channels == 3);
  Tensor image = empty_image(png.height(), png.width(), png.channels());
  png.read_rows(image.data<std::uint8_t>());
  return channels == png.channels() ? image : gray_of(image);
}

Tensor decode_png_mask(std::span<const std::byte> content) {
  PngReader png(content);
  png.read_header_of_mask();
  Tensor mask = empty_image(png.height(), png.width(), 1);
  png.read_rows(mask.data<std::uint8_t>());
  return mask;
}

std::vector<std::byte> encode_png(const Tensor& image) {
  png_image png{};
  png.version = PNG_IMAGE_VERSION;
  png.height = static_cast<png_uint_32>(image.dim(0));
  png.width = static_cast<png_uint_32>(image.dim(1));
  png.format = image.dim(2) == 3 ? PNG_FORMAT_RGB : PNG_FORMAT_GRAY;
  png_alloc_size_t bytes = PNG_IMAGE_PNG_SIZE_MAX(png);
  std::vector<std::byte> content(bytes);
  const std::vector<std::uint8_t> pixels = image.to_vector<std::uint8_t>();
  const int written = png_image_write_to_memory(&png, content.data(), &bytes, 0, pixels.data(), 0, nullptr);
  require<InputError>(written != 0, "an image of {} cannot be encoded: {}", image.shape(), png.message);
  content.resize(bytes);
  return content;
}

}  // namespace lockstep
