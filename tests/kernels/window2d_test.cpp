#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/errors.h>

#include <lockstep/kernels/window/window2d.h>

namespace lockstep::test {
namespace {

using ::testing::HasSubstr;

Sliding2d slide(std::int64_t input, std::int64_t window, std::int64_t stride, Padding padding) {
  return slide_window("op", {1, input, input, 1}, {window, window}, {stride, stride}, padding);
}

TEST(Window2d, ValidCountsWholeWindows) {
  EXPECT_EQ(slide(32, 3, 2, Padding::valid).output.height, 15);
  EXPECT_EQ(slide(7, 7, 1, Padding::valid).output.height, 1);
  EXPECT_EQ(slide(5, 1, 3, Padding::valid).output.height, 2);
  EXPECT_EQ(slide(32, 3, 2, Padding::valid).window.pad_bottom, 0);
}

// TensorFlow's documented results for SAME: output = ceil(input / stride), the extra row or column is at the end.
TEST(Window2d, SamePadsTheOddRowAtTheEnd) {
  const Sliding2d even = slide(6, 3, 2, Padding::same);
  EXPECT_EQ(even.output.height, 3);
  EXPECT_EQ(even.window.pad_top, 0);
  EXPECT_EQ(even.window.pad_bottom, 1);
  const Sliding2d odd = slide(5, 3, 2, Padding::same);
  EXPECT_EQ(odd.output.width, 3);
  EXPECT_EQ(odd.window.pad_left, 1);
  EXPECT_EQ(odd.window.pad_right, 1);
  const Sliding2d wide = slide(2, 4, 1, Padding::same);
  EXPECT_EQ(wide.output.width, 2);
  EXPECT_EQ(wide.window.pad_left, 1);
  EXPECT_EQ(wide.window.pad_right, 2);
}

TEST(Window2d, SameNeverPadsANegativeAmount) {
  const Sliding2d skipping = slide(5, 1, 3, Padding::same);
  EXPECT_EQ(skipping.output.height, 2);
  EXPECT_EQ(skipping.window.pad_top, 0);
  EXPECT_EQ(skipping.window.pad_bottom, 0);
}

TEST(Window2d, AxesAreIndependent) {
  const Sliding2d slide = slide_window("op", {2, 9, 4, 3}, {3, 2}, {2, 1}, Padding::valid);
  EXPECT_EQ(slide.output.height, 4);
  EXPECT_EQ(slide.output.width, 3);
  EXPECT_EQ(slide.window.height, 3);
  EXPECT_EQ(slide.window.stride_w, 1);
}

TEST(Window2d, RejectsWhatDoesNotFit) {
  EXPECT_THAT(error_of<InvalidArgument>([&] { slide(2, 3, 1, Padding::valid); }),
              HasSubstr("op: the window of 3 x 3 does not fit into x (1, 2, 2, 1)"));
  EXPECT_THAT(error_of<InvalidArgument>([&] { slide(8, 3, 0, Padding::same); }),
              HasSubstr("must be at least 1, got 3 x 3 and 0 x 0"));
  EXPECT_THAT(error_of<InvalidArgument>([&] {
                slide_window("op", {3, 3}, {1, 1}, {1, 1}, Padding::same);
              }),
              HasSubstr("x must be (n, height, width, channels), got (3, 3)"));
}

}  // namespace
}  // namespace lockstep::test
