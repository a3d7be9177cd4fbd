#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <kernels/cuda/convolution_cases.h>
#include <support/tensors.h>

#include <lockstep/kernels/activation.h>
#include <lockstep/kernels/convolution/convolution_kernels.h>
#include <lockstep/kernels/convolution/filters_first.h>
#include <lockstep/kernels/op/layout.h>
#include <lockstep/kernels/window/window.h>
#include <lockstep/kernels/write.h>

namespace lockstep::test {
namespace {

using cudnn::Convolution;
using cudnn::ConvolutionPass;
using cudnn::Layout;

TEST(Convolution, LaysOutImagesChannelsInnermostInCudnnsOrder) {
  const Convolution c = convolution_of({{2, 5, 6, 3}, {3, 2, 3, 4}}, ConvolutionPass::forward);
  EXPECT_EQ(c.x(), (Layout{{2, 3, 5, 6}, {90, 1, 18, 3}}));
  EXPECT_EQ(c.kernel(), (Layout{{4, 3, 3, 2}, {18, 1, 6, 3}}));
  EXPECT_EQ(c.y(), (Layout{{2, 4, 3, 5}, {60, 1, 20, 4}}));
  EXPECT_EQ(c.bias_layout(), (Layout{{1, 4, 1, 1}, {4, 1, 4, 4}}));
}

TEST(Layout, CountsTheElementsFromTheFirstToTheLast) {
  EXPECT_EQ((Layout{{2, 3, 5, 6}, {90, 1, 18, 3}}.elements()), 2 * 3 * 5 * 6);
  EXPECT_EQ((Layout{{2, 3, 5, 6}, {200, 1, 24, 4}}.elements()), 200 + 2 + 4 * 24 + 5 * 4 + 1);
  EXPECT_EQ((Layout{{1, 4, 1, 1}, {4, 1, 4, 4}}.elements()), 4);
}

TEST(Convolution, HasAKernelOfOneGroupsChannels) {
  const Convolution c = convolution_of({{2, 5, 5, 8}, {3, 3, 1, 24}}, ConvolutionPass::forward);
  EXPECT_EQ(c.groups, 8);
  EXPECT_EQ(c.kernel(), (Layout{{24, 1, 3, 3}, {9, 1, 3, 1}}));
}

TEST(Convolution, KeepsUnequalPadding) {
  const Convolution c =
      convolution_of({{1, 8, 7, 1}, {3, 4, 1, 1}, {.strides = {2, 1}, .padding = Padding::same, .dilation = {1, 2}}},
                     ConvolutionPass::gradient_x);
  EXPECT_EQ(c.pads_before, (cudnn::Pair{0, 3}));
  EXPECT_EQ(c.pads_after, (cudnn::Pair{1, 3}));
  EXPECT_EQ(c.strides, (cudnn::Pair{2, 1}));
  EXPECT_EQ(c.dilation, (cudnn::Pair{1, 2}));
  EXPECT_EQ(c.y_size, (cudnn::Pair{4, 7}));
}

TEST(Convolution, IsAKeyOfAllThatAPlanDependsOn) {
  const ConvolutionCase base{{2, 8, 8, 4}, {3, 3, 4, 8}, {.strides = {2, 2}}};
  const Convolution c = convolution_of(base, ConvolutionPass::forward);
  EXPECT_EQ(c, convolution_of(base, ConvolutionPass::forward));
  EXPECT_NE(c, convolution_of(base, ConvolutionPass::gradient_x));
  EXPECT_NE(c, convolution_of(base, ConvolutionPass::forward, DType::bf16));
  Convolution biased = c;
  biased.bias = true;
  EXPECT_NE(c, biased);
  Convolution rectified = biased;
  rectified.relu = true;
  EXPECT_NE(biased, rectified);
  // All tensors have the same sizes, but the window is shifted by one row.
  Window2d moved = sliding(base).window;
  moved.pad_top = 1;
  EXPECT_NE(c, Convolution(ConvolutionPass::forward, DType::f32, base.x, base.kernel, result_shape(base), moved));
}

TEST(Convolution, SaysItsShapesInOneLine) {
  const Convolution c = convolution_of({{2, 8, 8, 4}, {3, 3, 2, 8}}, ConvolutionPass::gradient_kernel, DType::bf16);
  EXPECT_EQ(c.text(),
            "kernel gradient of a convolution of bf16 x (2, 8, 8, 4) with kernel (3, 3, 2, 8), strides (1, 1), padding "
            "(0, 0) and (0, 0), dilation (1, 1)");
}

std::size_t offset(const Layout& layout, std::int64_t a, std::int64_t b, std::int64_t row, std::int64_t column) {
  EXPECT_TRUE(a < layout.sizes[0] && b < layout.sizes[1] && row < layout.sizes[2] && column < layout.sizes[3]);
  return static_cast<std::size_t>(a * layout.strides[0] + b * layout.strides[1] + row * layout.strides[2] +
                                  column * layout.strides[3]);
}

/// Calls visit(offset in x, offset in the kernel, offset in y) for every product of the convolution, as cuDNN defines
/// it in terms of its descriptor: sizes, strides, padding, dilation.
template <class Visit>
void for_each_product(const Convolution& c, const Visit& visit) {
  const auto [x, kernel, y] = std::tuple(c.x(), c.kernel(), c.y());
  const std::int64_t groups = x.sizes[1] / kernel.sizes[1];
  for (std::int64_t n = 0; n < y.sizes[0]; ++n)
    for (std::int64_t k = 0; k < y.sizes[1]; ++k)
      for (std::int64_t p = 0; p < y.sizes[2]; ++p)
        for (std::int64_t q = 0; q < y.sizes[3]; ++q)
          for (std::int64_t in = 0; in < kernel.sizes[1]; ++in)
            for (std::int64_t r = 0; r < kernel.sizes[2]; ++r)
              for (std::int64_t s = 0; s < kernel.sizes[3]; ++s) {
                const std::int64_t row = p * c.strides[0] - c.pads_before[0] + r * c.dilation[0];
                const std::int64_t column = q * c.strides[1] - c.pads_before[1] + s * c.dilation[1];
                if (row < 0 || row >= x.sizes[2] || column < 0 || column >= x.sizes[3]) continue;
                const std::int64_t channel = k / (kernel.sizes[0] / groups) * kernel.sizes[1] + in;
                visit(offset(x, n, channel, row, column), offset(kernel, k, in, r, s), offset(y, n, k, p, q));
              }
}

class ConvolutionMapping : public ::testing::TestWithParam<std::tuple<ConvolutionCase, DType>> {
 protected:
  const ConvolutionCase& c_ = std::get<0>(GetParam());
  const DType dtype_ = std::get<1>(GetParam());

  Convolution convolution(ConvolutionPass pass) const { return convolution_of(c_, pass, dtype_); }
  Tensor numbers(const Shape& shape, unsigned seed) const { return in_dtype(dtype_, random_tensor(shape, seed)); }
};

TEST_P(ConvolutionMapping, GivesTheCpusResult) {
  const Convolution c = convolution(ConvolutionPass::forward);
  const Tensor x = numbers(c_.x, 1);
  const Tensor kernel = random_tensor(c_.kernel, 2);
  const auto images = x.to_vector<double>();
  const auto filters = filters_first(kernel, dtype_).to_vector<double>();
  std::vector<double> expected(static_cast<std::size_t>(result_shape(c_).elements()));
  for_each_product(c, [&](std::size_t at_x, std::size_t at_kernel, std::size_t at_y) {
    expected[at_y] += images[at_x] * filters[at_kernel];
  });
  const Tensor y = Tensor::empty(result_shape(c_), dtype_);
  launch(kernels::Conv2d{x, kernel, {}, sliding(c_).window, Activation::linear, y, filters_first(kernel, dtype_)});
  expect_sums(c, y, expected);
}

TEST_P(ConvolutionMapping, GivesTheCpusGradientOfX) {
  const Convolution c = convolution(ConvolutionPass::gradient_x);
  const Tensor dy = numbers(result_shape(c_), 1);
  const Tensor kernel = random_tensor(c_.kernel, 2);
  const auto gradient = dy.to_vector<double>();
  const auto filters = filters_first(kernel, dtype_).to_vector<double>();
  std::vector<double> expected(static_cast<std::size_t>(c_.x.elements()));
  for_each_product(c, [&](std::size_t at_x, std::size_t at_kernel, std::size_t at_y) {
    expected[at_x] += gradient[at_y] * filters[at_kernel];
  });
  const Tensor dx = Tensor::empty(c_.x, dtype_);
  launch(kernels::Conv2dGradientX{dy, kernel, sliding(c_).window, Write::replace, dx, filters_first(kernel, dtype_)});
  expect_sums(c, dx, expected);
}

TEST_P(ConvolutionMapping, GivesTheCpusGradientOfTheKernel) {
  const Convolution c = convolution(ConvolutionPass::gradient_kernel);
  const Tensor dy = numbers(result_shape(c_), 1);
  const Tensor x = numbers(c_.x, 2);
  const auto gradient = dy.to_vector<double>();
  const auto images = x.to_vector<double>();
  std::vector<double> sums(static_cast<std::size_t>(c_.kernel.elements()));
  for_each_product(c, [&](std::size_t at_x, std::size_t at_kernel, std::size_t at_y) {
    sums[at_kernel] += gradient[at_y] * images[at_x];
  });
  const Tensor filters = empty_filters_first(c_.kernel, dtype_);
  copy(in_dtype(dtype_, Tensor::from(std::vector<float>(sums.begin(), sums.end()), filters.shape())), filters);
  const Tensor expected = Tensor::empty(c_.kernel);
  filters_last(filters, expected);
  const Tensor dkernel = Tensor::empty(c_.kernel);
  launch(kernels::Conv2dGradientKernel{x, dy, sliding(c_).window, dkernel, {}});
  expect_sums(c, dkernel, expected.to_vector<double>());
}

INSTANTIATE_TEST_SUITE_P(Small, ConvolutionMapping,
                         ::testing::Combine(::testing::ValuesIn(small_convolutions()),
                                            ::testing::Values(DType::f32, DType::bf16)));

TEST(FiltersFirst, IsTheKernelFilterByFilter) {
  const Tensor kernel = Tensor::from(std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, {1, 2, 2, 3});
  for (const DType dtype : {DType::f32, DType::bf16}) {
    const Tensor filters = filters_first(kernel, dtype);
    EXPECT_EQ(filters.dtype(), dtype);
    EXPECT_THAT(filters.to_vector<float>(), ::testing::ElementsAre(0, 3, 6, 9, 1, 4, 7, 10, 2, 5, 8, 11));
    const Tensor back = Tensor::empty(kernel.shape());
    filters_last(filters, back);
    expect_same_bits(back, kernel);
  }
}

}  // namespace
}  // namespace lockstep::test
