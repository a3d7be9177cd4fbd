#include <csetjmp>
#include <cstdio>

#include <jerror.h>
#include <jpeglib.h>

#include <lockstep/models/data/image_codec.h>
#include <lockstep/runtime/core/error.h>

namespace lockstep {
namespace {

struct ErrorManager : jpeg_error_mgr {
  std::jmp_buf jump;
  char message[JMSG_LENGTH_MAX];
};

[[noreturn]] void on_error(j_common_ptr info) {
  auto* errors = static_cast<ErrorManager*>(info->err);
  errors->format_message(info, errors->message);
  std::longjmp(errors->jump, 1);
}

/// libjpeg continues after warnings. Warnings after which it would invent pixels are errors here.
void on_message(j_common_ptr info, int level) {
  const int code = info->err->msg_code;
  const bool pixels_are_lost =
      code == JWRN_JPEG_EOF || code == JWRN_HIT_MARKER || code == JWRN_HUFF_BAD_CODE || code == JWRN_MUST_RESYNC;
  if (level < 0 && pixels_are_lost) on_error(info);
}

/// Limits the number of scans, because decoding many progressive scans of a large image in a small file can take hours.
void limit_scans(j_common_ptr info) {
  constexpr int most_scans = 500;
  if (reinterpret_cast<j_decompress_ptr>(info)->input_scan_number > most_scans) ERREXIT(info, JERR_BAD_PROGRESSION);
}

/// On an error libjpeg jumps out of its functions to `attempt`. Calls that can fail must therefore be made by
/// `attempt`, in functions without objects whose destructors the jump would skip.
class Decompressor {
 public:
  Decompressor() {
    info_.err = jpeg_std_error(&errors_);
    errors_.error_exit = on_error;
    errors_.emit_message = on_message;
    progress_.progress_monitor = limit_scans;
    attempt([](Decompressor& self) { jpeg_create_decompress(&self.info_); });
    info_.progress = &progress_;
  }
  ~Decompressor() { jpeg_destroy_decompress(&info_); }
  Decompressor(const Decompressor&) = delete;
  Decompressor& operator=(const Decompressor&) = delete;

  void read_header(std::span<const std::byte> content, std::int64_t channels) {
    content_ = content;
    attempt([](Decompressor& self) {
      const auto* bytes = reinterpret_cast<const unsigned char*>(self.content_.data());
      jpeg_mem_src(&self.info_, bytes, static_cast<unsigned long>(self.content_.size()));
      jpeg_read_header(&self.info_, TRUE);
    });
    check_size();
    info_.out_color_space = is_of_inks() ? JCS_CMYK : channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  }
  /// Whether the colors are cyan, magenta, yellow and black, for which libjpeg returns four channels.
  bool is_of_inks() const { return info_.jpeg_color_space == JCS_CMYK || info_.jpeg_color_space == JCS_YCCK; }
  /// Whether 255 stands for no ink, as in files written by Adobe's programs.
  bool inks_are_inverted() const { return info_.saw_Adobe_marker != 0; }
  std::int64_t height() const { return info_.image_height; }
  std::int64_t width() const { return info_.image_width; }

  /// Reads all rows, one after the other.
  void read_rows(std::uint8_t* to) {
    to_ = to;
    attempt([](Decompressor& self) {
      jpeg_start_decompress(&self.info_);
      const std::size_t row_bytes = std::size_t{self.info_.output_width} * self.info_.output_components;
      while (self.info_.output_scanline < self.info_.output_height) {
        JSAMPROW row = self.to_ + self.info_.output_scanline * row_bytes;
        jpeg_read_scanlines(&self.info_, &row, 1);
      }
      jpeg_finish_decompress(&self.info_);
    });
  }

 private:
  /// Limits the size of the image by the size of the file. With Huffman coding, a block of 8 x 8 pixels takes at least
  /// one bit. (Arithmetic coding, which is rare, can take less.)
  void check_size() const {
    constexpr std::int64_t pixels_of_byte = 8 * 8 * 8;
    const auto bytes = static_cast<std::int64_t>(content_.size());
    require<InputError>(info_.arith_code != 0 || width() * height() <= bytes * pixels_of_byte,
                        "a damaged JPEG image: it claims to be {} x {} pixels in {} bytes", height(), width(), bytes);
  }

  void attempt(void (*calls)(Decompressor& self)) {
    if (setjmp(errors_.jump) != 0) fail<InputError>("a damaged JPEG image: {}", errors_.message);
    calls(*this);
  }

  jpeg_decompress_struct info_{};
  ErrorManager errors_{};
  jpeg_progress_mgr progress_{};
  std::span<const std::byte> content_;
  std::uint8_t* to_ = nullptr;
};

/// Converts CMYK (four channels) to gray or RGB.
Tensor colors_of(const Tensor& inks, bool inverted, std::int64_t channels) {
  Tensor image = empty_image(inks.dim(0), inks.dim(1), channels);
  const std::uint8_t* from = inks.data<std::uint8_t>();
  for (std::uint8_t* to = image.data<std::uint8_t>(); to != image.data<std::uint8_t>() + image.elements();
       to += channels, from += 4) {
    const auto left = [&](int ink) { return inverted ? from[ink] : 255 - from[ink]; };
    const auto color = [&](int ink) { return (left(ink) * left(3) + 127) / 255; };
    if (channels == 1) {
      *to = static_cast<std::uint8_t>((299 * color(0) + 587 * color(1) + 114 * color(2) + 500) / 1000);
    } else {
      for (int i = 0; i < 3; ++i) to[i] = static_cast<std::uint8_t>(color(i));
    }
  }
  return image;
}

}  // namespace

Tensor decode_jpeg(std::span<const std::byte> content, std::int64_t channels) {
  Decompressor jpeg;
  jpeg.read_header(content, channels);
  Tensor image = empty_image(jpeg.height(), jpeg.width(), jpeg.is_of_inks() ? 4 : channels);
  jpeg.read_rows(image.data<std::uint8_t>());
  return jpeg.is_of_inks() ? colors_of(image, jpeg.inks_are_inverted(), channels) : image;
}

}  // namespace lockstep
