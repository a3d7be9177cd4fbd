#include <array>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/errors.h>
#include <support/gradient_check.h>

#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/pooling/pool2d.h>
#include <lockstep/runtime/thread/parallel.h>

namespace lockstep::test {
namespace {

using ::testing::HasSubstr;

enum class Kind { max, average };

struct Case {
  Shape x;
  Pool2dOptions options{};
};

const std::vector<Case> cases{
    {{2, 6, 6, 3}, {}},
    {{2, 5, 7, 17}, {.window = {3, 3}, .padding = Padding::same}},
    {{1, 9, 9, 16}, {.window = {3, 3}, .strides = Size2d{2, 2}}},
    {{3, 7, 7, 5}, {.window = {7, 7}, .strides = Size2d{1, 1}}},
    {{2, 1, 1, 1}, {.window = {3, 3}, .strides = Size2d{2, 2}, .padding = Padding::same}},
    {{2, 8, 7, 5}, {.window = {1, 2}, .strides = Size2d{3, 4}}},
    {{2, 7, 7, 1}, {.window = {2, 2}, .strides = Size2d{3, 3}, .padding = Padding::same}},
    {{1, 5, 4, 8}, {.window = {3, 4}, .strides = Size2d{1, 1}, .padding = Padding::same}},
    {{1, 18, 17, 2}, {.window = {17, 16}, .strides = Size2d{1, 1}}},
};

Tensor pool(Kind kind, const Tensor& x, const Pool2dOptions& options) {
  return kind == Kind::max ? max_pool2d(x, options) : average_pool2d(x, options);
}

struct Extent {
  std::int64_t size, pad;
};

Extent along(std::int64_t input, std::int64_t window, std::int64_t stride, Padding padding) {
  if (padding == Padding::valid) return {(input - window + stride) / stride, 0};
  const std::int64_t size = (input - 1) / stride + 1;
  return {size, std::max<std::int64_t>(0, (size - 1) * stride + window - input) / 2};
}

std::vector<double> plain_pool(Kind kind, const Case& c, const std::vector<double>& x) {
  const Size2d strides = c.options.strides.value_or(c.options.window);
  const Extent rows = along(c.x[1], c.options.window.height, strides.height, c.options.padding);
  const Extent columns = along(c.x[2], c.options.window.width, strides.width, c.options.padding);
  std::vector<double> y;
  for (std::int64_t n = 0; n < c.x[0]; ++n)
    for (std::int64_t i = 0; i < rows.size; ++i)
      for (std::int64_t j = 0; j < columns.size; ++j)
        for (std::int64_t k = 0; k < c.x[3]; ++k) {
          double largest = -std::numeric_limits<double>::infinity();
          double sum = 0;
          int count = 0;
          for (std::int64_t di = 0; di < c.options.window.height; ++di)
            for (std::int64_t dj = 0; dj < c.options.window.width; ++dj) {
              const std::int64_t row = i * strides.height + di - rows.pad;
              const std::int64_t column = j * strides.width + dj - columns.pad;
              if (row < 0 || row >= c.x[1] || column < 0 || column >= c.x[2]) continue;
              const double value = x[static_cast<std::size_t>(((n * c.x[1] + row) * c.x[2] + column) * c.x[3] + k)];
              largest = std::max(largest, value);
              sum += value;
              ++count;
            }
          y.push_back(kind == Kind::max ? largest : sum / count);
        }
  return y;
}

class Pool2d : public ::testing::TestWithParam<Kind> {};

TEST_P(Pool2d, EqualsPlainLoops) {
  for (const int threads : {1, 2, 3}) {
    const ComputeThreadsScope scope(threads);
    for (const Case& c : cases) {
      SCOPED_TRACE(c.x.text());
      // All negative, so that padding taken for zeros would win.
      check_gradients([&](std::span<const Tensor> in) { return pool(GetParam(), in[0], c.options); },
                      [&](const std::vector<std::vector<double>>& in) { return plain_pool(GetParam(), c, in[0]); },
                      {random_tensor(c.x, 1, -2, -1)}, {.length = c.options.window.height * c.options.window.width});
    }
  }
}

struct Results {
  Tensor y, dx;
};

Results run(Kind kind, const Tensor& x, const Pool2dOptions& options) {
  GradientTape tape;
  tape.watch(x);
  const Tensor y = pool(kind, x, options);
  const Tensor weights = random_tensor(y.shape(), 5);
  return {y, tape.gradient(sum(multiply(y, weights)), std::array{x})[0]};
}

void expect_same(const Results& a, const Results& b) {
  expect_same_bits(a.y, b.y);
  expect_same_bits(a.dx, b.dx);
}

TEST_P(Pool2d, SlicesAndThreadsGiveTheSameBits) {
  const Tensor x = random_tensor({20, 15, 15, 20}, 1);
  Pool2dOptions options{.window = {3, 3}, .strides = Size2d{2, 2}, .padding = Padding::same};
  const Results expected = run(GetParam(), x, options);
  for (const int threads : {1, 2, 3}) {
    const ComputeThreadsScope scope(threads);
    expect_same(expected, run(GetParam(), x, options));
  }
  expect_same(expected, run(GetParam(), strided_copy(x), options));
  const Tensor whole = Tensor::full({20, 8, 8, 24}, 7);
  options.out = whole.slice_view(3, 1, 21);
  expect_same(expected, run(GetParam(), x, options));
  for (const auto& [begin, end] : {std::pair{0, 1}, std::pair{21, 24}})
    for (const float value : whole.slice_view(3, begin, end).to_vector<float>()) ASSERT_EQ(value, 7);
}

TEST_P(Pool2d, ReadsStridedGradients) {
  const Tensor x = random_tensor({2, 6, 6, 5}, 1);
  const Results expected = run(GetParam(), x, {});
  const Shape shape{2, 3, 3, 5};
  GradientTape tape;
  tape.watch(x);
  const std::array parts{random_tensor(shape, 2), pool(GetParam(), x, {})};
  const std::array weights{Tensor::zeros(shape), random_tensor(shape, 5)};
  const Tensor dx = tape.gradient(sum(multiply(concat(parts, 3), concat(weights, 3))), std::array{x})[0];
  expect_same_bits(expected.dx, dx);
}

TEST_P(Pool2d, NoRows) {
  const Results result = run(GetParam(), random_tensor({0, 6, 6, 3}, 1), {});
  EXPECT_EQ(result.y.shape(), Shape({0, 3, 3, 3}));
  EXPECT_EQ(result.dx.shape(), Shape({0, 6, 6, 3}));
}

TEST_P(Pool2d, NamesShapesThatDoNotFit) {
  const Tensor x = random_tensor({2, 6, 6, 3}, 1);
  EXPECT_THAT(error_of<InvalidArgument>([&] {
                pool(GetParam(), random_tensor({6, 3}, 1), {});
              }),
              HasSubstr("_pool2d: x must be f32 or bf16 (n, height, width, channels), got f32 (6, 3)"));
  EXPECT_THAT(error_of<InvalidArgument>([&] {
                pool(GetParam(), x, {.window = {7, 2}});
              }),
              HasSubstr("the window of 7 x 2 does not fit into x (2, 6, 6, 3)"));
  EXPECT_THAT(error_of<InvalidArgument>([&] { pool(GetParam(), x, {.out = x}); }),
              HasSubstr("the output must be f32 (2, 3, 3, 3), dense or a channel slice, got f32 (2, 6, 6, 3)"));
}

INSTANTIATE_TEST_SUITE_P(, Pool2d, ::testing::Values(Kind::max, Kind::average),
                         [](const auto& info) { return info.param == Kind::max ? "max" : "average"; });

TEST(MaxPool2d, TheFirstOfEqualElementsTakesTheGradient) {
  const Tensor x = Tensor::full({1, 2, 2, 2}, 3);
  const Tensor dx = [&] {
    GradientTape tape;
    tape.watch(x);
    return tape.gradient(sum(max_pool2d(x)), std::array{x})[0];
  }();
  EXPECT_EQ(dx.to_vector<float>(), (std::vector<float>{1, 1, 0, 0, 0, 0, 0, 0}));
}

}  // namespace
}  // namespace lockstep::test
