#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/errors.h>
#include <support/tensors.h>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/pooling/pool2d.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/runtime/autograd/tape.h>
#include <lockstep/runtime/thread/parallel.h>

namespace lockstep::test {
namespace {

using ::testing::HasSubstr;

enum class Kind { max, average };

Tensor pool(Kind kind, const Tensor& x, const Pool2dOptions& options) {
  return kind == Kind::max ? max_pool2d(x, options) : average_pool2d(x, options);
}

class Pool2d : public ::testing::TestWithParam<Kind> {};

struct PoolingResults {
  Tensor y, dx;
};

PoolingResults run(Kind kind, const Tensor& x, const Pool2dOptions& options) {
  GradientTape tape;
  tape.watch(x);
  const Tensor y = pool(kind, x, options);
  const Tensor weights = random_tensor(y.shape(), 5);
  return {y, tape.gradient(sum(multiply(y, weights)), std::array{x})[0]};
}

void expect_same(const PoolingResults& a, const PoolingResults& b) {
  expect_same_bits(a.y, b.y);
  expect_same_bits(a.dx, b.dx);
}

TEST_P(Pool2d, SlicesAndThreadsGiveTheSameBits) {
  const Tensor x = random_tensor({20, 15, 15, 20}, 1);
  Pool2dOptions options{.window = {3, 3}, .strides = Size2d{2, 2}, .padding = Padding::same};
  const PoolingResults expected = run(GetParam(), x, options);
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
  const PoolingResults expected = run(GetParam(), x, {});
  const Shape shape{2, 3, 3, 5};
  GradientTape tape;
  tape.watch(x);
  const std::array parts{random_tensor(shape, 2), pool(GetParam(), x, {})};
  const std::array weights{Tensor::zeros(shape), random_tensor(shape, 5)};
  const Tensor dx = tape.gradient(sum(multiply(concatenate(parts, 3), concatenate(weights, 3))), std::array{x})[0];
  expect_same_bits(expected.dx, dx);
}

TEST_P(Pool2d, WindowsWithPaddingMayBeLargerThanTheImage) {
  const Tensor x = random_tensor({2, 3, 4, 5}, 1);
  const PoolingResults expected = run(GetParam(), x, {.window = {3, 4}});
  for (const std::int64_t size : {std::int64_t{9}, std::int64_t{1} << 20, (std::int64_t{1} << 31) - 1})
    expect_same(expected, run(GetParam(), x, {.window = size, .padding = Padding::same}));
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

TEST(MaxPool2d, NaNIsTheLargest) {
  for (std::size_t place = 0; place < 9; ++place) {
    std::vector<float> values{3, 1, 4, 1, 5, 9, 2, 6, 5};
    values[place] = std::nanf("");
    const Tensor x = Tensor::from(values, {1, 3, 3, 1});
    const PoolingResults results = run(Kind::max, x, {.window = {3, 3}});
    EXPECT_TRUE(std::isnan(results.y.item<float>())) << "NaN at " << place;
    const std::vector<float> dx = results.dx.to_vector<float>();
    for (std::size_t i = 0; i < dx.size(); ++i) EXPECT_EQ(dx[i] != 0, i == place) << "NaN at " << place;
  }
}

}  // namespace
}  // namespace lockstep::test
