#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numeric>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <kernels/cases/convolution.h>
#include <support/errors.h>
#include <support/tensors.h>

#include <lockstep/kernels/array/activations.h>
#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/convolution/conv2d.h>
#include <lockstep/kernels/convolution/convolution_kernels.h>
#include <lockstep/kernels/convolution/filters_first.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/kernels/window/window2d.h>
#include <lockstep/runtime/autograd/tape.h>
#include <lockstep/runtime/thread/parallel.h>

namespace lockstep::test {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsNan;

struct ConvolutionResults {
  Tensor y, dx, dkernel, dbias;
};

ConvolutionResults run(const Tensor& x, const Tensor& kernel, const Tensor& bias, const Tensor& weights) {
  GradientTape tape;
  const std::array sources{x, kernel, bias};
  for (const Tensor& source : sources) tape.watch(source);
  const Tensor y = conv2d(x, kernel, bias, {.padding = Padding::same});
  const auto gradients = tape.gradient(sum(multiply(y, weights)), sources);
  return {y, gradients[0], gradients[1], gradients[2]};
}

void expect_same(const ConvolutionResults& a, const ConvolutionResults& b) {
  expect_same_bits(a.y, b.y);
  expect_same_bits(a.dx, b.dx);
  expect_same_bits(a.dkernel, b.dkernel);
  expect_same_bits(a.dbias, b.dbias);
}

TEST(Conv2d, OfWinogradsFilteringGivesTheSameBitsOnAnyNumberOfThreads) {
  const Tensor x = random_tensor({8, 13, 14, 32}, 1);
  const Tensor kernel = random_tensor({3, 3, 32, 48}, 2);
  const Tensor bias = random_tensor({48}, 3);
  const Tensor weights = random_tensor({8, 13, 14, 48}, 4);
  const auto on_threads = [&](int threads) {
    const ComputeThreadsScope scope(threads);
    return run(x, kernel, bias, weights);
  };
  const ConvolutionResults alone = on_threads(1);
  for (const int threads : {1, 2, 3}) expect_same(on_threads(threads), alone);
}

TEST(Conv2d, AppliesAnActivationToWinogradsResults) {
  const Tensor x = random_tensor({2, 9, 9, 16}, 1);
  const Tensor kernel = random_tensor({3, 3, 16, 32}, 2);
  const Tensor bias = random_tensor({32}, 3);
  const Tensor plain = conv2d(x, kernel, bias, {});
  for (const Activation activation : {Activation::relu, Activation::tanh, Activation::gelu}) {
    const Tensor together = conv2d(x, kernel, bias, {.activation = activation});
    const Tensor apart = activate(plain, activation);
    if (current_context().device.kind == DeviceKind::cpu)
      expect_same_bits(together, apart);
    else  // cuDNN may choose another algorithm for the whole
      expect_close(together, apart.to_vector<double>(), 3 * 3 * 16);
  }
}

TEST(Conv2d, KeepsNan) {
  const Tensor x = Tensor::full({2, 9, 9, 16}, std::nanf(""));
  for (const std::int64_t window : {3, 2})  // 3 uses Winograd's filtering
    for (const Tensor& bias : {Tensor(), random_tensor({32}, 3)})
      for (const Activation activation :
           {Activation::linear, Activation::relu, Activation::relu6, Activation::leaky_relu, Activation::elu,
            Activation::selu, Activation::sigmoid, Activation::tanh, Activation::exponential}) {
        const Tensor y = conv2d(x, random_tensor({window, window, 16, 32}, 2), bias, {.activation = activation});
        EXPECT_THAT(y.to_vector<float>(), Each(IsNan()))
            << "window " << window << ", bias " << bias.defined() << ", " << static_cast<int>(activation);
      }
}

TEST(Conv2d, AcceptsAStridedGradient) {
  const Tensor x = random_tensor({2, 4, 5, 6}, 1);
  const Tensor kernel = random_tensor({3, 3, 6, 7}, 2);
  const Tensor bias = random_tensor({7}, 3);
  const Tensor weights = random_tensor({2, 4, 5, 7}, 4);
  const ConvolutionResults direct = run(x, kernel, bias, weights);

  GradientTape tape;
  const std::array sources{x, kernel, bias};
  for (const Tensor& source : sources) tape.watch(source);
  const std::array parts{random_tensor({2, 4, 5, 3}, 5), conv2d(x, kernel, bias, {.padding = Padding::same})};
  const std::array wide_weights{Tensor::zeros({2, 4, 5, 3}), weights};
  const auto gradients = tape.gradient(sum(multiply(concatenate(parts, 3), concatenate(wide_weights, 3))), sources);
  expect_same(direct, {direct.y, gradients[0], gradients[1], gradients[2]});
}

TEST(Conv2d, AddsTheGradientsOfTwoReaders) {
  const Tensor x = random_tensor({2, 4, 4, 3}, 1);
  const Tensor bias = random_tensor({5}, 3);
  const Tensor weights = random_tensor({2, 4, 4, 5}, 4);
  const Tensor small = random_tensor({1, 1, 3, 5}, 5);
  const Tensor large = random_tensor({3, 3, 3, 5}, 6);
  const Tensor apart = add(run(x, small, bias, weights).dx, run(x, large, bias, weights).dx);
  for (const auto& [first, second] : {std::pair(small, large), std::pair(large, small)}) {
    GradientTape tape;
    tape.watch(x);
    const Tensor one = conv2d(x, first, bias, {.padding = Padding::same});
    const Tensor other = conv2d(x, second, bias, {.padding = Padding::same});
    const Tensor dx = tape.gradient(sum(multiply(add(one, other), weights)), std::array{x})[0];
    expect_same_bits(dx, apart);
  }
}

TEST(Conv2d, GradientOfXReplacesOrIsAddedToWhatIsThere) {
  for (const Conv2dCase& c : conv2d_cases())
    for (const DType dtype : {DType::f32, DType::bf16}) {
      SCOPED_TRACE("x " + c.x.text() + ", kernel " + c.kernel.text() + ", " + std::string(name(dtype)));
      const auto [window, size] = slide_window("test", c.x, {c.kernel[0], c.kernel[1]}, c.options.strides,
                                               c.options.padding, c.options.dilation);
      const Tensor kernel = random_tensor(c.kernel, 2);
      const Tensor filters = filters_first(kernel, dtype);
      const Tensor dy = cast(random_tensor({c.x[0], size.height, size.width, c.kernel[3]}, 4), dtype);
      const Tensor alone = cast(Tensor::full(c.x, std::nanf("")), dtype);
      launch(kernels::Conv2dGradientX{dy, kernel, window, Write::replace, alone, filters});
      const Tensor sum = cast(random_tensor(c.x, 5), dtype);
      std::vector<double> expected = sum.to_vector<double>();
      launch(kernels::Conv2dGradientX{dy, kernel, window, Write::add, sum, filters});
      std::ranges::transform(expected, alone.to_vector<double>(), expected.begin(), std::plus<>());
      expect_close(sum, expected, c.kernel[0] * c.kernel[1] * c.kernel[3]);
    }
}

/// The gradient of a convolution's x, pixel by pixel of dy.
std::vector<double> plain_gradient_x(const Tensor& dy, const Tensor& kernel, const Window2d& w, const Shape& x) {
  const std::vector<double> of_dy = dy.to_vector<double>(), taps = kernel.to_vector<double>();
  std::vector<double> result(static_cast<std::size_t>(x[0] * x[1] * x[2] * x[3]));
  const auto each_tap = [&](std::int64_t pixel, std::int64_t row, std::int64_t column, std::int64_t image) {
    for (std::int64_t tap = 0; tap < w.height * w.width; ++tap) {
      const std::int64_t i = row * w.stride_h - w.pad_top + tap / w.width;
      const std::int64_t j = column * w.stride_w - w.pad_left + tap % w.width;
      if (i < 0 || i >= x[1] || j < 0 || j >= x[2]) continue;
      for (std::int64_t c = 0; c < x[3]; ++c)
        result[((image * x[1] + i) * x[2] + j) * x[3] + c] += std::inner_product(
            &of_dy[pixel * dy.dim(3)], &of_dy[pixel * dy.dim(3)] + dy.dim(3), &taps[(tap * x[3] + c) * dy.dim(3)], 0.0);
    }
  };
  for (std::int64_t pixel = 0; pixel < dy.dim(0) * dy.dim(1) * dy.dim(2); ++pixel)
    each_tap(pixel, pixel / dy.dim(2) % dy.dim(1), pixel % dy.dim(2), pixel / dy.dim(2) / dy.dim(1));
  return result;
}

TEST(Conv2d, GradientOfXInPhasesIsTheSumOverAllWindows) {
  struct Case {
    Shape x, kernel;
    Size2d strides;
    Padding padding;
  };
  for (const auto& [shape, kernel_shape, strides, padding] :
       {Case{{2, 64, 64, 64}, {4, 4, 64, 16}, 2, Padding::same},
        Case{{2, 63, 64, 64}, {3, 3, 64, 16}, 2, Padding::same},
        Case{{2, 65, 98, 64}, {3, 5, 64, 16}, {2, 3}, Padding::valid}}) {
    SCOPED_TRACE("x " + shape.text() + ", kernel " + kernel_shape.text());
    const auto [window, size] = slide_window("test", shape, {kernel_shape[0], kernel_shape[1]}, strides, padding);
    const Tensor kernel = random_tensor(kernel_shape, 2);
    const Tensor filters = filters_first(kernel, DType::f32);
    const Tensor dy = random_tensor({shape[0], size.height, size.width, kernel_shape[3]}, 4);
    std::vector<double> expected = plain_gradient_x(dy, kernel, window, shape);
    const std::int64_t length = kernel_shape[0] * kernel_shape[1] * kernel_shape[3];
    const Tensor dx = Tensor::full(shape, std::nanf(""));
    launch(kernels::Conv2dGradientX{dy, kernel, window, Write::replace, dx, filters});
    expect_close(dx, expected, length);
    launch(kernels::Conv2dGradientX{dy, kernel, window, Write::add, dx, filters});
    std::ranges::transform(expected, expected.begin(), [](double value) { return 2 * value; });
    expect_close(dx, expected, length);
  }
}

TEST(Conv2d, NamesShapesThatDoNotFit) {
  const Tensor x = random_tensor({2, 4, 4, 3}, 1);
  const Tensor kernel = random_tensor({3, 3, 3, 5}, 2);
  EXPECT_THAT(error_of<InvalidArgument>([&] {
                conv2d(random_tensor({4, 3}, 1), kernel, {});
              }),
              HasSubstr("conv2d: x must be f32 or bf16 (n, height, width, channels), got f32 (4, 3)"));
  EXPECT_THAT(error_of<InvalidArgument>([&] { conv2d({}, kernel, {}); }), HasSubstr("conv2d: x must be"));
  EXPECT_THAT(error_of<InvalidArgument>([&] {
                conv2d(x, random_tensor({3, 3, 4, 5}, 2), {});
              }),
              HasSubstr("the kernel for x (2, 4, 4, 3) must be f32 (height, width, 3, filters)"));
  EXPECT_THAT(error_of<InvalidArgument>([&] { conv2d(x, kernel, random_tensor({4}, 3)); }),
              HasSubstr("must be f32 (5), got f32 (4)"));
  EXPECT_THAT(error_of<InvalidArgument>([&] {
                conv2d(x, random_tensor({5, 5, 3, 5}, 2), {});
              }),
              HasSubstr("does not fit"));
  EXPECT_THAT(error_of<InvalidArgument>([&] { conv2d(x, kernel, {}, {.groups = 2}); }),
              HasSubstr("the 3 channels of x (2, 4, 4, 3) cannot be divided into 2 groups"));
  EXPECT_THAT(error_of<InvalidArgument>([&] {
                conv2d(x, random_tensor({3, 3, 1, 5}, 2), {}, {.groups = 3});
              }),
              HasSubstr("(height, width, 1, filters), filters a multiple of 3, got f32 (3, 3, 1, 5)"));
  EXPECT_THAT(error_of<InvalidArgument>([&] {
                depthwise_conv2d(x, random_tensor({3, 3, 2, 5}, 2), {});
              }),
              HasSubstr("must be f32 (height, width, 3, multiplier), got f32 (3, 3, 2, 5)"));
}

}  // namespace
}  // namespace lockstep::test
