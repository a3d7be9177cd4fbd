#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <jpeglib.h>
#include <png.h>

// Image files to read, written with libpng and libjpeg.

namespace lockstep::test {

struct PngImage {
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  int color_type = PNG_COLOR_TYPE_RGB;
  int bit_depth = 8;
  std::vector<std::uint8_t> bytes{};  ///< rows in the file's format: big-endian, samples of less than 8 bits packed
  std::vector<png_color> palette{};
  std::vector<std::uint8_t> palette_alpha{};
  int interlace = PNG_INTERLACE_NONE;
};

/// Writes the image with libpng, whose errors end the test program.
inline void write_png(const std::string& path, PngImage image) {
  std::FILE* const file = std::fopen(path.c_str(), "wb");
  ASSERT_NE(file, nullptr) << path;
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  png_init_io(png, file);
  png_set_IHDR(png, info, image.width, image.height, image.bit_depth, image.color_type, image.interlace,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  if (!image.palette.empty()) png_set_PLTE(png, info, image.palette.data(), static_cast<int>(image.palette.size()));
  if (!image.palette_alpha.empty())
    png_set_tRNS(png, info, image.palette_alpha.data(), static_cast<int>(image.palette_alpha.size()), nullptr);
  png_write_info(png, info);
  std::vector<png_bytep> rows;
  for (std::uint32_t row = 0; row < image.height; ++row)
    rows.push_back(image.bytes.data() + row * image.bytes.size() / image.height);
  png_write_image(png, rows.data());
  png_write_end(png, nullptr);
  png_destroy_write_struct(&png, &info);
  std::fclose(file);
}

/// Encodes pixels of 1 (gray), 3 (RGB) or 4 (CMYK) channels at the best quality, without color subsampling.
inline void write_jpeg(const std::string& path, std::uint32_t width, std::uint32_t height, int channels,
                       std::vector<std::uint8_t> pixels, bool progressive = false) {
  std::FILE* const file = std::fopen(path.c_str(), "wb");
  ASSERT_NE(file, nullptr) << path;
  jpeg_compress_struct jpeg{};
  jpeg_error_mgr errors{};
  jpeg.err = jpeg_std_error(&errors);
  jpeg_create_compress(&jpeg);
  jpeg_stdio_dest(&jpeg, file);
  jpeg.image_width = width;
  jpeg.image_height = height;
  jpeg.input_components = channels;
  jpeg.in_color_space = channels == 1 ? JCS_GRAYSCALE : channels == 3 ? JCS_RGB : JCS_CMYK;
  jpeg_set_defaults(&jpeg);
  jpeg_set_quality(&jpeg, 100, TRUE);
  jpeg.comp_info[0].h_samp_factor = jpeg.comp_info[0].v_samp_factor = 1;
  if (progressive) jpeg_simple_progression(&jpeg);
  jpeg_start_compress(&jpeg, TRUE);
  while (jpeg.next_scanline < height) {
    JSAMPROW row = pixels.data() + jpeg.next_scanline * width * static_cast<unsigned>(channels);
    jpeg_write_scanlines(&jpeg, &row, 1);
  }
  jpeg_finish_compress(&jpeg);
  jpeg_destroy_compress(&jpeg);
  std::fclose(file);
}

}  // namespace lockstep::test
