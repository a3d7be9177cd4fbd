#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/errors.h>
#include <support/gradient_check.h>

#include <lockstep/kernels/array/activations.h>
#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/convolution/conv2d.h>
#include <lockstep/kernels/convolution/convolution_kernels.h>
#include <lockstep/kernels/window/window2d.h>
#include <lockstep/runtime/thread/parallel.h>

namespace lockstep::test {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsNan;

struct Case {
  Shape x;
  Shape kernel;
  Conv2dOptions options{};
  bool bias = true;
};

const std::vector<Case> cases{
    {{2, 5, 6, 3}, {3, 3, 3, 4}, {}},
    {{2, 5, 6, 16}, {3, 3, 16, 8}, {.padding = Padding::same}},
    {{1, 7, 7, 17}, {3, 2, 17, 5}, {.strides = {2, 1}, .padding = Padding::same}},
    {{3, 6, 6, 5}, {2, 2, 5, 17}, {.strides = {2, 2}, .padding = Padding::valid}, false},
    {{3, 4, 4, 1}, {4, 4, 1, 1}, {.padding = Padding::same}},
    {{2, 1, 1, 8}, {1, 1, 8, 24}, {}},
    {{3, 5, 6, 7}, {1, 1, 7, 20}, {}},
    {{2, 7, 6, 5}, {1, 1, 5, 4}, {.strides = {2, 3}}},
    {{2, 1, 1, 3}, {3, 3, 3, 3}, {.padding = Padding::same}},
    {{1, 9, 7, 3}, {2, 1, 3, 16}, {.strides = {3, 4}, .padding = Padding::valid}},
    {{1, 7, 7, 2}, {1, 1, 2, 3}, {.strides = {3, 3}, .padding = Padding::same}},
    {{2, 9, 8, 3}, {3, 3, 3, 4}, {.dilation = {2, 3}}},
    {{1, 6, 7, 5}, {3, 2, 5, 3}, {.padding = Padding::same, .dilation = {3, 2}}, false},
    {{2, 6, 5, 6}, {3, 3, 3, 4}, {.padding = Padding::same, .groups = 2}},
    {{2, 7, 5, 9}, {2, 3, 3, 6}, {.strides = {2, 1}, .groups = 3}, false},
    {{2, 6, 5, 16}, {3, 3, 1, 16}, {.padding = Padding::same, .groups = 16}},
    {{2, 5, 6, 8}, {3, 3, 1, 24}, {.strides = {2, 2}, .padding = Padding::same, .groups = 8}},
    {{1, 7, 7, 5}, {3, 3, 1, 5}, {.dilation = {2, 2}, .groups = 5}},
    // On the CPU by Winograd's filtering: tiles of 4x4 results that fit, that hang over, and more than one block of
    // them.
    {{1, 8, 8, 16}, {3, 3, 16, 32}, {.padding = Padding::same}},
    {{2, 7, 10, 32}, {3, 3, 32, 16}, {.padding = Padding::valid}, false},
    {{1, 4, 5, 16}, {3, 3, 16, 16}, {}},
    {{5, 13, 15, 16}, {3, 3, 16, 16}, {.padding = Padding::same}},
};

struct Extent {
  std::int64_t size, pad;
};

Extent along(std::int64_t input, std::int64_t taps, std::int64_t dilation, std::int64_t stride, Padding padding) {
  const std::int64_t window = (taps - 1) * dilation + 1;
  if (padding == Padding::valid) return {(input - window + stride) / stride, 0};
  const std::int64_t size = (input - 1) / stride + 1;
  return {size, std::max<std::int64_t>(0, (size - 1) * stride + window - input) / 2};
}

/// Plain loops over every result and every tap.
std::vector<double> plain_conv2d(const Case& c, const std::vector<double>& x, const std::vector<double>& kernel,
                                 const std::vector<double>& bias) {
  const Extent rows =
      along(c.x[1], c.kernel[0], c.options.dilation.height, c.options.strides.height, c.options.padding);
  const Extent columns =
      along(c.x[2], c.kernel[1], c.options.dilation.width, c.options.strides.width, c.options.padding);
  std::vector<double> y;
  for (std::int64_t n = 0; n < c.x[0]; ++n)
    for (std::int64_t i = 0; i < rows.size; ++i)
      for (std::int64_t j = 0; j < columns.size; ++j)
        for (std::int64_t out = 0; out < c.kernel[3]; ++out) {
          double sum = bias.empty() ? 0 : bias[static_cast<std::size_t>(out)];
          for (std::int64_t di = 0; di < c.kernel[0]; ++di)
            for (std::int64_t dj = 0; dj < c.kernel[1]; ++dj) {
              const std::int64_t row = i * c.options.strides.height + di * c.options.dilation.height - rows.pad;
              const std::int64_t column = j * c.options.strides.width + dj * c.options.dilation.width - columns.pad;
              if (row < 0 || row >= c.x[1] || column < 0 || column >= c.x[2]) continue;
              const std::int64_t group = out / (c.kernel[3] / c.options.groups);
              const double* const first = &x[static_cast<std::size_t>(((n * c.x[1] + row) * c.x[2] + column) * c.x[3])];
              const double* const channels = first + group * c.kernel[2];
              const double* const taps =
                  &kernel[static_cast<std::size_t>((di * c.kernel[1] + dj) * c.kernel[2] * c.kernel[3] + out)];
              for (std::int64_t in = 0; in < c.kernel[2]; ++in) sum += channels[in] * taps[in * c.kernel[3]];
            }
          y.push_back(sum);
        }
  return y;
}

void check_case(const Case& c) {
  SCOPED_TRACE("x " + c.x.text() + ", kernel " + c.kernel.text());
  const Shape bias_shape{c.kernel[3]};
  const std::vector<Tensor> inputs =
      c.bias ? std::vector<Tensor>{random_tensor(c.x, 1), random_tensor(c.kernel, 2), random_tensor(bias_shape, 3)}
             : std::vector<Tensor>{random_tensor(c.x, 1), random_tensor(c.kernel, 2)};
  const auto op = [&](std::span<const Tensor> in) {
    return conv2d(in[0], in[1], c.bias ? in[2] : Tensor(), c.options);
  };
  const auto reference = [&](const std::vector<std::vector<double>>& in) {
    return plain_conv2d(c, in[0], in[1], c.bias ? in[2] : std::vector<double>());
  };
  // The longest sums: a result over its taps, a kernel element's gradient over images and positions.
  const std::int64_t taps = c.kernel[0] * c.kernel[1] * std::max(c.kernel[2], c.kernel[3]);
  check_gradients(op, reference, inputs, {.length = std::max(taps, c.x[0] * c.x[1] * c.x[2]), .threads = {1, 2, 3}});
}

TEST(Conv2d, EqualsPlainLoops) {
  for (const Case& c : cases) check_case(c);
}

struct Results {
  Tensor y, dx, dkernel, dbias;
};

Results run(const Tensor& x, const Tensor& kernel, const Tensor& bias, const Tensor& weights) {
  GradientTape tape;
  const std::array sources{x, kernel, bias};
  for (const Tensor& source : sources) tape.watch(source);
  const Tensor y = conv2d(x, kernel, bias, {.padding = Padding::same});
  const auto gradients = tape.gradient(sum(multiply(y, weights)), sources);
  return {y, gradients[0], gradients[1], gradients[2]};
}

void expect_same(const Results& a, const Results& b) {
  expect_same_bits(a.y, b.y);
  expect_same_bits(a.dx, b.dx);
  expect_same_bits(a.dkernel, b.dkernel);
  expect_same_bits(a.dbias, b.dbias);
}

TEST(Conv2d, GivesTheSameBitsAgain) {
  const Tensor x = random_tensor({8, 9, 9, 16}, 1);
  const Tensor kernel = random_tensor({3, 3, 16, 24}, 2);
  const Tensor bias = random_tensor({24}, 3);
  const Tensor weights = random_tensor({8, 9, 9, 24}, 4);
  for (const int threads : {1, 2, 3}) {
    const ComputeThreadsScope scope(threads);
    expect_same(run(x, kernel, bias, weights), run(x, kernel, bias, weights));
  }
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
  const Results alone = on_threads(1);
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
    else  // cuDNN may have another algorithm for both
      expect_close(together, apart.to_vector<double>(), 3 * 3 * 16);
  }
}

TEST(Conv2d, KeepsNan) {
  const Tensor x = Tensor::full({2, 9, 9, 16}, std::nanf(""));
  for (const std::int64_t window : {3, 2})  // the first one by Winograd's filtering
    for (const Tensor& bias : {Tensor(), random_tensor({32}, 3)})
      for (const Activation activation :
           {Activation::linear, Activation::relu, Activation::relu6, Activation::leaky_relu, Activation::elu,
            Activation::selu, Activation::sigmoid, Activation::tanh, Activation::exponential}) {
        const Tensor y = conv2d(x, random_tensor({window, window, 16, 32}, 2), bias, {.activation = activation});
        EXPECT_THAT(y.to_vector<float>(), Each(IsNan()))
            << "window " << window << ", bias " << bias.defined() << ", " << static_cast<int>(activation);
      }
}

TEST(Conv2d, ReadsChannelSlices) {
  const Tensor x = random_tensor({2, 4, 5, 6}, 1);
  const Tensor kernel = random_tensor({3, 3, 6, 7}, 2);
  const Tensor bias = random_tensor({7}, 3);
  const Tensor weights = random_tensor({2, 4, 5, 7}, 4);
  expect_same(run(x, kernel, bias, weights), run(strided_copy(x), kernel, bias, weights));
}

TEST(Conv2d, AcceptsAStridedGradient) {
  const Tensor x = random_tensor({2, 4, 5, 6}, 1);
  const Tensor kernel = random_tensor({3, 3, 6, 7}, 2);
  const Tensor bias = random_tensor({7}, 3);
  const Tensor weights = random_tensor({2, 4, 5, 7}, 4);
  const Results direct = run(x, kernel, bias, weights);

  GradientTape tape;
  const std::array sources{x, kernel, bias};
  for (const Tensor& source : sources) tape.watch(source);
  const std::array parts{random_tensor({2, 4, 5, 3}, 5), conv2d(x, kernel, bias, {.padding = Padding::same})};
  const std::array wide_weights{Tensor::zeros({2, 4, 5, 3}), weights};
  const auto gradients = tape.gradient(sum(multiply(concat(parts, 3), concat(wide_weights, 3))), sources);
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
  for (const Case& c : cases)
    for (const DType dtype : {DType::f32, DType::bf16}) {
      SCOPED_TRACE("x " + c.x.text() + ", kernel " + c.kernel.text() + ", " + std::string(name(dtype)));
      const auto [window, size] = slide_window("test", c.x, {c.kernel[0], c.kernel[1]}, c.options.strides,
                                               c.options.padding, c.options.dilation);
      const Tensor kernel = random_tensor(c.kernel, 2);
      const Tensor dy = cast(random_tensor({c.x[0], size.height, size.width, c.kernel[3]}, 4), dtype);
      const Tensor alone = cast(Tensor::full(c.x, std::nanf("")), dtype);
      launch(kernels::Conv2dGradientX{dy, kernel, window, Write::replace, alone});
      const Tensor sum = cast(random_tensor(c.x, 5), dtype);
      std::vector<double> expected = sum.to_vector<double>();
      launch(kernels::Conv2dGradientX{dy, kernel, window, Write::add, sum});
      std::ranges::transform(expected, alone.to_vector<double>(), expected.begin(), std::plus<>());
      expect_close(sum, expected, c.kernel[0] * c.kernel[1] * c.kernel[3]);
    }
}

TEST(Conv2d, BiasAloneMayBeTrained) {
  const Tensor x = random_tensor({2, 4, 4, 3}, 1);
  const Tensor kernel = random_tensor({3, 3, 3, 5}, 2);
  const Tensor bias = random_tensor({5}, 3);
  const Tensor weights = random_tensor({2, 4, 4, 5}, 4);
  GradientTape tape;
  tape.watch(bias);
  const Tensor y = conv2d(x, kernel, bias, {.padding = Padding::same});
  const Tensor dbias = tape.gradient(sum(multiply(y, weights)), std::array{bias})[0];
  expect_close(dbias, run(x, kernel, bias, weights).dbias.to_vector<double>(), 2 * 4 * 4);
}

TEST(Conv2d, NoRowsGiveZeroGradients) {
  const Tensor x = random_tensor({0, 4, 4, 3}, 1);
  const Results result = run(x, random_tensor({3, 3, 3, 5}, 2), random_tensor({5}, 3), random_tensor({0, 4, 4, 5}, 4));
  EXPECT_EQ(result.y.shape(), Shape({0, 4, 4, 5}));
  EXPECT_EQ(result.dx.shape(), x.shape());
  expect_same_bits(result.dkernel, Tensor::zeros({3, 3, 3, 5}));
  expect_same_bits(result.dbias, Tensor::zeros({5}));
}

// Keras' kernel (h, w, channels, multiplier) is the kernel (h, w, 1, channels * multiplier) of as many groups.
TEST(Conv2d, DepthwiseIsOneGroupForEachChannel) {
  const Case grouped{{2, 5, 6, 3}, {3, 2, 1, 6}, {.padding = Padding::same, .groups = 3}};
  check_gradients(
      [&](std::span<const Tensor> in) { return depthwise_conv2d(in[0], in[1], in[2], {.padding = Padding::same}); },
      [&](const std::vector<std::vector<double>>& in) { return plain_conv2d(grouped, in[0], in[1], in[2]); },
      {random_tensor({2, 5, 6, 3}, 1), random_tensor({3, 2, 3, 2}, 2), random_tensor({6}, 3)}, {.length = 2 * 5 * 6});
  const Tensor none = depthwise_conv2d(random_tensor({0, 5, 6, 3}, 1), random_tensor({3, 2, 3, 2}, 2), {});
  EXPECT_EQ(none.shape(), Shape({0, 3, 5, 6}));
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
              HasSubstr("the 3 channels of x (2, 4, 4, 3) do not make 2 groups"));
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
