#include <algorithm>
#include <cmath>

#include <support/gradient_check.h>

#include <lockstep/kernels/pooling/pool2d.h>
#include <lockstep/models/layers/adaptive_pooling.h>

#include "layer_test.h"

namespace lockstep::test {
namespace {

/// The largest element, or the mean, of each window of images (n, h, w, c).
Reference pooled(const Shape& x, Size2d size, bool largest) {
  return [=](const std::vector<std::vector<double>>& in) {
    const auto begin = [](std::int64_t i, std::int64_t n, std::int64_t m) {
      return static_cast<std::int64_t>(std::floor(static_cast<double>(i * n) / static_cast<double>(m)));
    };
    const auto end = [](std::int64_t i, std::int64_t n, std::int64_t m) {
      return static_cast<std::int64_t>(std::ceil(static_cast<double>((i + 1) * n) / static_cast<double>(m)));
    };
    std::vector<double> y;
    for (std::int64_t n = 0; n < x[0]; ++n)
      for (std::int64_t i = 0; i < size.height; ++i)
        for (std::int64_t j = 0; j < size.width; ++j)
          for (std::int64_t c = 0; c < x[3]; ++c) {
            std::vector<double> window;
            for (std::int64_t row = begin(i, x[1], size.height); row < end(i, x[1], size.height); ++row)
              for (std::int64_t column = begin(j, x[2], size.width); column < end(j, x[2], size.width); ++column)
                window.push_back(in[0][static_cast<std::size_t>(((n * x[1] + row) * x[2] + column) * x[3] + c)]);
            double sum = 0;
            for (const double value : window) sum += value / static_cast<double>(window.size());
            y.push_back(largest ? std::ranges::max(window) : sum);
          }
    return y;
  };
}

TEST(AdaptivePooling2D, PoolsToTheOutputSize) {
  const Shape image{2, 7, 6, 3};
  const Tensor x = random_tensor(image, 1);
  for (const Size2d size : {Size2d{3, 2}, Size2d{5, 4}, Size2d{7, 9}, Size2d{1, 6}}) {
    SCOPED_TRACE(fmt::format("{} x {}", size.height, size.width));
    const AdaptiveMaxPooling2D largest({.output_size = size});
    const AdaptiveAveragePooling2D mean({.output_size = size});
    EXPECT_EQ(shape_after(largest, {{7, 6, 3}}), (Shape{size.height, size.width, 3}));
    EXPECT_EQ(call(mean, {x}).shape(), (Shape{2, size.height, size.width, 3}));
    const GradientCheck check{.length = 7 * 6};
    check_gradients([&](std::span<const Tensor> in) { return call(largest, {in[0]}); }, pooled(image, size, true), {x},
                    check);
    check_gradients([&](std::span<const Tensor> in) { return call(mean, {in[0]}); }, pooled(image, size, false), {x},
                    check);
  }
}

TEST(AdaptivePooling2D, WithEqualWindowsIsTheOp) {
  const Tensor x = random_tensor({2, 6, 8, 3}, 1);
  const Pool2dOptions window{.window = {2, 4}};
  expect_same_bits(call(AdaptiveMaxPooling2D({.output_size = {3, 2}}), {x}), max_pool2d(x, window));
  expect_same_bits(call(AdaptiveAveragePooling2D({.output_size = {3, 2}}), {x}), average_pool2d(x, window));
}

TEST(AdaptivePooling1D, IsThatOfImagesOfOneRow) {
  const Tensor x = random_tensor({2, 7, 3}, 1);
  const Tensor image = x.view({2, 1, 7, 3});
  const AdaptivePooling1DOptions options{.output_size = 4};
  EXPECT_EQ(shape_after(AdaptiveMaxPooling1D(options), {{7, 3}}), (Shape{4, 3}));
  expect_same_bits(call(AdaptiveMaxPooling1D(options), {x}),
                   call(AdaptiveMaxPooling2D({.output_size = {1, 4}}), {image}).view({2, 4, 3}));
  expect_same_bits(call(AdaptiveAveragePooling1D(options), {x}),
                   call(AdaptiveAveragePooling2D({.output_size = {1, 4}}), {image}).view({2, 4, 3}));
}

TEST(AdaptivePooling, RefusesWhatItCannotTake) {
  EXPECT_ERROR(InvalidArgument, "AdaptiveMaxPooling1D needs an output_size of at least 1, got 0",
               AdaptiveMaxPooling1D({}));
  EXPECT_ERROR(InvalidArgument, "AdaptiveAveragePooling2D needs an output_size of at least 1, got (2, 0)",
               AdaptiveAveragePooling2D({.output_size = {2, 0}}));
  EXPECT_ERROR(InvalidArgument, "AdaptiveMaxPooling2D takes images (height, width, channels), got (3, 4)",
               shape_after(AdaptiveMaxPooling2D({.output_size = 1}), {{3, 4}}));
  EXPECT_ERROR(InvalidArgument, "AdaptiveAveragePooling1D needs sequences of at least one step, got (0, 4)",
               shape_after(AdaptiveAveragePooling1D({.output_size = 1}), {{0, 4}}));
}

}  // namespace
}  // namespace lockstep::test
