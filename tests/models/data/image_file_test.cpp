#include <array>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/temporary_folder.h>

#include <lockstep/models/data/image_file.h>
#include <lockstep/runtime/thread/parallel.h>

#include "image_files.h"

namespace lockstep {
namespace {

using test::contents_of;
using test::PngImage;
using test::write_jpeg;
using test::write_png;
using test::write_text;
using testing::AllOf;
using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::HasSubstr;
using testing::Not;
using testing::ThrowsMessage;

struct ImageFile : testing::Test {
  std::vector<int> png(const PngImage& image, std::int64_t channels) const {
    write_png(path, image);
    const Tensor read = read_image(path, channels);
    EXPECT_EQ(read.shape(), (Shape{image.height, image.width, channels}));
    EXPECT_EQ(read.dtype(), DType::u8);
    return read.to_vector<int>();
  }
  /// Reading fails with one line that begins with the file's name and contains `complaint`.
  void expect_refused(const std::string& complaint) const {
    EXPECT_THAT(
        [&] { read_image(path); },
        ThrowsMessage<InputError>(AllOf(testing::StartsWith(path + ": "), HasSubstr(complaint), Not(HasSubstr("\n")))));
  }

  test::TemporaryFolder folder;
  const std::string path = folder / "image";  // the name does not show the format
};

TEST_F(ImageFile, ReadsColorsOfAPngExactly) {
  const PngImage image{.width = 2, .height = 2, .bytes = {255, 0, 0, 0, 255, 0, 0, 0, 255, 1, 2, 3}};
  EXPECT_THAT(png(image, 3), ElementsAreArray(image.bytes));
  EXPECT_THAT(png(image, 1), ElementsAre(76, 150, 29, 2)) << "0.299 R + 0.587 G + 0.114 B, rounded";
}

TEST_F(ImageFile, ReadsGrayOfAPngWithAnyDepth) {
  const PngImage image{.width = 3, .height = 1, .color_type = PNG_COLOR_TYPE_GRAY, .bytes = {0, 7, 255}};
  EXPECT_THAT(png(image, 1), ElementsAre(0, 7, 255));
  EXPECT_THAT(png(image, 3), ElementsAre(0, 0, 0, 7, 7, 7, 255, 255, 255));
  const PngImage bits{
      .width = 4, .height = 1, .color_type = PNG_COLOR_TYPE_GRAY, .bit_depth = 1, .bytes = {0b01100000}};
  EXPECT_THAT(png(bits, 1), ElementsAre(0, 255, 255, 0));
}

TEST_F(ImageFile, TakesTheHigherByteOf16Bits) {
  EXPECT_THAT(png({.width = 1, .height = 1, .bit_depth = 16, .bytes = {1, 200, 2, 0, 255, 255}}, 3),
              ElementsAre(1, 2, 255));
}

TEST_F(ImageFile, LeavesAlphaOut) {
  const PngImage colors{.width = 1, .height = 2, .color_type = PNG_COLOR_TYPE_RGBA, .bytes = {9, 8, 7, 0, 6, 5, 4, 99}};
  EXPECT_THAT(png(colors, 3), ElementsAre(9, 8, 7, 6, 5, 4));
  const PngImage gray{.width = 2, .height = 1, .color_type = PNG_COLOR_TYPE_GRAY_ALPHA, .bytes = {9, 0, 8, 255}};
  EXPECT_THAT(png(gray, 1), ElementsAre(9, 8));
  EXPECT_THAT(png(gray, 3), ElementsAre(9, 9, 9, 8, 8, 8));
}

TEST_F(ImageFile, LooksPalettesUp) {
  const PngImage image{.width = 4,
                       .height = 1,
                       .color_type = PNG_COLOR_TYPE_PALETTE,
                       .bit_depth = 2,
                       .bytes = {0b01'00'10'01},
                       .palette = {{1, 2, 3}, {10, 20, 30}, {100, 100, 100}},
                       .palette_alpha = {0, 128}};
  EXPECT_THAT(png(image, 3), ElementsAre(10, 20, 30, 1, 2, 3, 100, 100, 100, 10, 20, 30));
  EXPECT_THAT(png(image, 1), ElementsAre(18, 2, 100, 18));
}

TEST_F(ImageFile, ReadsMasksAsTheNumbersInTheFile) {
  const auto mask = [&](const PngImage& image) {
    write_png(path, image);
    const Tensor read = read_mask(path);
    EXPECT_EQ(read.shape(), (Shape{image.height, image.width, 1}));
    EXPECT_EQ(read.dtype(), DType::u8);
    return read.to_vector<int>();
  };
  EXPECT_THAT(mask({.width = 3, .height = 1, .color_type = PNG_COLOR_TYPE_GRAY, .bytes = {0, 7, 255}}),
              ElementsAre(0, 7, 255));
  EXPECT_THAT(mask({.width = 4, .height = 1, .color_type = PNG_COLOR_TYPE_GRAY, .bit_depth = 1, .bytes = {0b01100000}}),
              ElementsAre(0, 1, 1, 0))
      << "not scaled to 255";
  const std::vector<png_color> palette{{1, 2, 3}, {10, 20, 30}, {100, 100, 100}};
  for (const std::vector<std::uint8_t>& alpha : {std::vector<std::uint8_t>{}, std::vector<std::uint8_t>{0, 128}})
    EXPECT_THAT(mask({.width = 4,
                      .height = 1,
                      .color_type = PNG_COLOR_TYPE_PALETTE,
                      .bit_depth = 2,
                      .bytes = {0b00011000},
                      .palette = palette,
                      .palette_alpha = alpha}),
                ElementsAre(0, 1, 2, 0));
}

TEST_F(ImageFile, RefusesMasksOfOtherFormats) {
  const auto refused = [&](const std::string& complaint) {
    EXPECT_THAT([&] { read_mask(path); },
                ThrowsMessage<InputError>(AllOf(testing::StartsWith(path + ": "), HasSubstr(complaint))));
  };
  write_png(path, {.width = 1, .height = 1, .bytes = {1, 2, 3}});
  refused("a mask must have gray values or a palette, it has colors or alpha");
  write_png(path, {.width = 1, .height = 1, .color_type = PNG_COLOR_TYPE_GRAY_ALPHA, .bytes = {1, 2}});
  refused("a mask must have gray values or a palette, it has colors or alpha");
  write_png(path, {.width = 1, .height = 1, .color_type = PNG_COLOR_TYPE_GRAY, .bit_depth = 16, .bytes = {1, 2}});
  refused("a mask must have 8 bits per pixel or fewer, it has 16");
  write_jpeg(path, 1, 1, 1, {7});
  refused("no PNG image, which a mask must be");
  write_png(path, {.width = 2, .height = 2, .color_type = PNG_COLOR_TYPE_GRAY, .bytes = {1, 2, 3, 4}});
  write_text(path, contents_of(path).substr(0, 40));
  refused("a damaged PNG image");
}

TEST_F(ImageFile, WritesAPngThatIsReadBack) {
  const Tensor rgb =
      Tensor::from(std::vector<std::uint8_t>{255, 0, 0, 0, 255, 0, 0, 0, 255, 1, 2, 3, 4, 5, 6, 7, 8, 9}, {2, 3, 3});
  write_image(path, rgb);
  EXPECT_EQ(read_image(path, 3).shape(), (Shape{2, 3, 3}));
  EXPECT_EQ(read_image(path, 3).to_vector<int>(), rgb.to_vector<int>());
  const Tensor gray = rgb.slice_view(2, 1, 2).transposed_view();  // (3, 2, 1), not dense
  write_image(path, gray);
  EXPECT_EQ(read_image(path, 1).shape(), gray.shape());
  EXPECT_THAT(read_image(path, 1).to_vector<int>(), ElementsAre(0, 2, 255, 5, 0, 8));
}

TEST_F(ImageFile, RefusesToWriteWhatIsNoImage) {
  const auto refused = [&](const Tensor& image) {
    EXPECT_THAT([&] { write_image(path, image); }, ThrowsMessage<InvalidArgument>(HasSubstr("height, width, 1 or 3")));
  };
  for (const Shape& shape : {Shape{2, 3}, Shape{2, 3, 2}, Shape{0, 3, 1}}) refused(Tensor::zeros(shape, DType::u8));
  refused(Tensor::zeros({2, 3, 1}));
  refused(Tensor());
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_THAT(
      [&] {
        write_image(folder / "none/image", Tensor::zeros({2, 3, 1}, DType::u8));
      },
      ThrowsMessage<InputError>(HasSubstr("none/image")));
}

TEST_F(ImageFile, ReadsAnInterlacedPng) {
  PngImage image{.width = 9, .height = 9, .interlace = PNG_INTERLACE_ADAM7};
  for (int i = 0; i < 9 * 9 * 3; ++i) image.bytes.push_back(static_cast<std::uint8_t>(i));
  EXPECT_THAT(png(image, 3), ElementsAreArray(image.bytes));
}

/// A smooth image, which JPEG's best quality preserves.
std::vector<std::uint8_t> gradient(std::int64_t height, std::int64_t width, int channels) {
  std::vector<std::uint8_t> pixels;
  for (std::int64_t row = 0; row < height; ++row)
    for (std::int64_t column = 0; column < width; ++column)
      for (int channel = 0; channel < channels; ++channel)
        pixels.push_back(static_cast<std::uint8_t>(20 + 3 * row + 5 * column + 40 * channel));
  return pixels;
}

TEST_F(ImageFile, ReadsJpegs) {
  // Rounding of the DCT's coefficients at quality 100, and of both color conversions.
  constexpr int tolerance = 4;
  for (const bool progressive : {false, true}) {
    const std::vector<std::uint8_t> pixels = gradient(17, 23, 3);
    write_jpeg(path, 23, 17, 3, pixels, progressive);
    const Tensor colors = read_image(path);
    ASSERT_EQ(colors.shape(), (Shape{17, 23, 3}));
    for (std::size_t i = 0; i < pixels.size(); ++i)
      ASSERT_NEAR(colors.span<std::uint8_t>()[i], pixels[i], tolerance) << i;
    const Tensor gray = read_image(path, 1);
    ASSERT_EQ(gray.shape(), (Shape{17, 23, 1}));
    for (std::size_t i = 0; i < pixels.size() / 3; ++i) {
      const double luma = 0.299 * pixels[3 * i] + 0.587 * pixels[3 * i + 1] + 0.114 * pixels[3 * i + 2];
      ASSERT_NEAR(gray.span<std::uint8_t>()[i], luma, tolerance) << i;
    }
  }
  const std::vector<std::uint8_t> pixels = gradient(8, 8, 1);
  write_jpeg(path, 8, 8, 1, pixels);
  const Tensor spread = read_image(path, 3);
  for (std::size_t i = 0; i < spread.span<std::uint8_t>().size(); ++i)
    ASSERT_NEAR(spread.span<std::uint8_t>()[i], pixels[i / 3], tolerance);
}

// libjpeg adds Adobe's marker, with which 255 means no ink. Without the marker, 255 means full ink.
TEST_F(ImageFile, ReadsJpegsInCmyk) {
  std::vector<std::uint8_t> pixels = gradient(8, 8, 4);
  for (std::size_t i = 3; i < pixels.size(); i += 4) pixels[i] = 200;
  for (const bool adobe : {true, false}) {
    write_jpeg(path, 8, 8, 4, pixels);
    if (!adobe) {
      std::string content = contents_of(path);
      content.replace(content.find("Adobe"), 5, "Other");
      write_text(path, content);
    }
    const auto left = [&](std::size_t i) { return adobe ? pixels[i] : 255 - pixels[i]; };
    const Tensor colors = read_image(path);
    const Tensor gray = read_image(path, 1);
    for (std::size_t pixel = 0; pixel < 64; ++pixel) {
      double luma = 0;
      for (std::size_t channel = 0; channel < 3; ++channel) {
        const double color = left(4 * pixel + channel) * left(4 * pixel + 3) / 255.0;
        ASSERT_NEAR(colors.span<std::uint8_t>()[3 * pixel + channel], color, 4) << adobe << " " << pixel;
        luma += std::array{0.299, 0.587, 0.114}[channel] * color;
      }
      ASSERT_NEAR(gray.span<std::uint8_t>()[pixel], luma, 4) << adobe << " " << pixel;
    }
  }
}

/// An image of 3 x 2 pixels from top to bottom: red, green, blue; black, white, gray.
std::string bmp(int bits, const std::string& palette, const std::string& rows, bool top_down = false) {
  const auto number = [](std::uint32_t value, int bytes) {
    std::string text;
    for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i));
    return text;
  };
  const auto start = static_cast<std::uint32_t>(54 + palette.size());
  return "BM" + number(start + static_cast<std::uint32_t>(rows.size()), 4) + number(0, 4) + number(start, 4) +
         number(40, 4) + number(3, 4) + number(top_down ? -2U : 2U, 4) + number(1, 2) +
         number(static_cast<std::uint32_t>(bits), 2) + number(0, 4) + number(0, 4) + number(0, 8) +
         number(static_cast<std::uint32_t>(palette.size() / 4), 4) + number(0, 4) + palette + rows;
}

using namespace std::string_literals;
const std::string colors_24 = "\x00\x00\xff\x00\xff\x00\xff\x00\x00\0\0\0"s;
const std::string grays_24 = "\0\0\0\xff\xff\xff\x80\x80\x80\0\0\0"s;

TEST_F(ImageFile, ReadsBmps) {
  const std::vector<std::uint8_t> pixels{255, 0, 0, 0, 255, 0, 0, 0, 255, 0, 0, 0, 255, 255, 255, 128, 128, 128};
  const auto expect_read = [&](const std::string& content) {
    test::write_text(path, content);
    const Tensor image = read_image(path, 3);
    EXPECT_EQ(image.shape(), Shape({2, 3, 3}));
    EXPECT_EQ(image.to_vector<std::uint8_t>(), pixels);
  };
  expect_read(bmp(24, "", grays_24 + colors_24));
  EXPECT_EQ(read_image(path, 1).to_vector<std::uint8_t>(), (std::vector<std::uint8_t>{76, 150, 29, 0, 255, 128}));
  expect_read(bmp(24, "", colors_24 + grays_24, true));
  expect_read(
      bmp(32, "", "\0\0\0\x11\xff\xff\xff\x11\x80\x80\x80\x11\x00\x00\xff\x11\x00\xff\x00\x11\xff\x00\x00\x11"s));
  const std::string palette = "\0\0\0\0\xff\xff\xff\0\x80\x80\x80\0\x00\x00\xff\0\x00\xff\x00\0\xff\x00\x00\0"s;
  expect_read(bmp(8, palette, "\0\1\2\0\3\4\5\0"s));
  expect_read(bmp(4, palette, "\x01\x20\0\0\x34\x50\0\0"s));
}

TEST_F(ImageFile, RefusesBmpsThatAreDamagedOrCompressed) {
  const std::string good = bmp(24, "", grays_24 + colors_24);
  for (std::size_t bytes = 2; bytes < good.size(); ++bytes) {
    test::write_text(path, good.substr(0, bytes));
    expect_refused("BMP");
  }
  const auto expect_changed_refused = [&](std::size_t at, char to, const std::string& says) {
    std::string content = good;
    content[at] = to;
    test::write_text(path, content);
    expect_refused(says);
  };
  expect_changed_refused(28, 16, "of 16 bits a pixel");
  expect_changed_refused(30, 1, "compressed");
  expect_changed_refused(25, 0x7f, "cut short");  // claims 2^31 rows
  expect_changed_refused(14, 12, "header of 12 bytes");
  test::write_text(path, bmp(8, std::string(4, 0), std::string(8, 5)));
  expect_refused("color 5 of 1");
}

TEST_F(ImageFile, RefusesWhatIsNoImage) {
  expect_refused("no such file");
  write_text(path, "");
  expect_refused("no JPEG, PNG or BMP image");
  write_text(path, "GIF89a and more");
  expect_refused("no JPEG, PNG or BMP image");
  EXPECT_THROW(read_image(path, 2), InvalidArgument);
  EXPECT_THAT([&] { read_image(folder.path()); }, ThrowsMessage<InputError>(HasSubstr("not a regular file")));
}

TEST_F(ImageFile, RefusesEveryJpegThatIsCutShort) {
  write_jpeg(path, 16, 16, 3, gradient(16, 16, 3));
  const std::string whole = contents_of(path);
  constexpr std::size_t end_marker = 2;
  for (std::size_t bytes = 3; bytes < whole.size() - end_marker; bytes += 7) {
    write_text(path, whole.substr(0, bytes));
    expect_refused("a damaged JPEG image");
  }
}

TEST_F(ImageFile, RefusesEveryPngThatIsCutShortOrChanged) {
  write_png(path, {.width = 16, .height = 16, .bytes = gradient(16, 16, 3)});
  const std::string whole = contents_of(path);
  for (std::size_t bytes = 4; bytes < whole.size(); ++bytes) {
    write_text(path, whole.substr(0, bytes));
    expect_refused("a damaged PNG image");
  }
  std::string changed = whole;
  changed[whole.size() / 2] = static_cast<char>(changed[whole.size() / 2] ^ 1);
  write_text(path, changed);
  expect_refused("a damaged PNG image");
}

TEST_F(ImageFile, RefusesAnImageThatClaimsToBeHuge) {
  write_jpeg(path, 8, 8, 1, gradient(8, 8, 1));
  std::string bytes = contents_of(path);
  const std::size_t frame = bytes.find("\xff\xc0");
  ASSERT_NE(frame, std::string::npos);
  bytes.replace(frame + 5, 4, "\xff\x00\xff\x00", 4);
  write_text(path, bytes);
  expect_refused("65280 x 65280 pixels");
}

// Also with a plausible size in a file that is too short for it.
TEST_F(ImageFile, RefusesMorePixelsThanItsBytesCanHold) {
  write_jpeg(path, 8, 8, 1, gradient(8, 8, 1));
  std::string jpeg = contents_of(path);
  jpeg.replace(jpeg.find("\xff\xc0") + 5, 4, "\x10\x00\x10\x00", 4);
  write_text(path, jpeg);
  expect_refused("a damaged JPEG image: it claims to be 4096 x 4096 pixels in");
  write_png(path, {.width = 1, .height = 1, .bytes = {1, 2, 3}});
  std::string png = contents_of(path);
  constexpr std::size_t sizes = 16, check_sum = 29;
  png.replace(sizes, 8, std::string("\0\0\x10\0\0\0\x10\0", 8));
  png.replace(check_sum, 4, "\x7d\xc1\xb3\x40", 4);
  write_text(path, png);
  expect_refused("a damaged PNG image: it claims to be 4096 x 4096 pixels in");
}

TEST_F(ImageFile, MayBeReadOnSeveralThreads) {
  write_jpeg(folder / "whole.jpg", 16, 16, 3, gradient(16, 16, 3));
  write_text(folder / "cut.jpg", contents_of(folder / "whole.jpg").substr(0, 500));
  std::atomic<int> errors{0};
  const ComputeThreadsScope share(4);
  parallel_for(64, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      try {
        EXPECT_EQ(read_image(folder / (i % 2 == 0 ? "whole.jpg" : "cut.jpg")).shape(), (Shape{16, 16, 3}));
      } catch (const InputError&) {
        ++errors;
      }
    }
  });
  EXPECT_EQ(errors, 32);
}

}  // namespace
}  // namespace lockstep
