#include <cmath>
#include <numeric>

#include <lockstep/models/layers/initializers.h>
#include <lockstep/runtime/thread/parallel.h>

#include "layer_test.h"

namespace lockstep::test {
namespace {

std::vector<float> values(const Initializer& initializer, const Shape& shape) {
  const Tensor tensor = Tensor::empty(shape);
  initializer(tensor);
  return tensor.to_vector<float>();
}

/// Uniform in [-limit, limit), as far as 10,000 draws show: all inside, both ends reached to within 1 %, and a mean
/// within 4 standard deviations of 0.
void expect_uniform(const std::vector<float>& drawn, double limit) {
  ASSERT_GE(drawn.size(), 10000U);
  const auto [least, most] = std::ranges::minmax(drawn);
  EXPECT_GE(least, -static_cast<float>(limit));
  EXPECT_LT(most, static_cast<float>(limit));
  EXPECT_LT(least, -0.99 * limit);
  EXPECT_GT(most, 0.99 * limit);
  const double count = static_cast<double>(drawn.size());
  const double mean = std::accumulate(drawn.begin(), drawn.end(), 0.0) / count;
  EXPECT_LT(std::abs(mean), 4 * limit / std::sqrt(3 * count));
}

TEST(GlorotUniform, HasKerasLimits) {
  expect_uniform(values(glorot_uniform({.seed = 1}), {100, 200}), std::sqrt(6.0 / (100 + 200)));
  // The window of a convolution multiplies both fans.
  expect_uniform(values(glorot_uniform({.seed = 1}), {3, 5, 20, 40}), std::sqrt(6.0 / (15 * 20 + 15 * 40)));
}

TEST(GlorotUniform, DependsOnTheKeyAlone) {
  const Shape shape{301, 333};  // several chunks, no multiple of a block
  const RandomKey key{.seed = 1, .stream = 2};
  std::vector<float> serial;
  {
    const ComputeThreadsScope one(1);
    serial = values(glorot_uniform(key), shape);
  }
  const ComputeThreadsScope three(3);
  EXPECT_EQ(values(glorot_uniform(key), shape), serial);
  EXPECT_NE(values(glorot_uniform({.seed = 2, .stream = 2}), shape), serial);
  EXPECT_NE(values(glorot_uniform({.seed = 1, .stream = 3}), shape), serial);
}

TEST(GlorotUniform, RefusesVectors) {
  EXPECT_ERROR(InvalidArgument, "needs a kernel (..., in, out), got (3)", values(glorot_uniform({}), {3}));
}

/// The product of rows (or columns) i and j of a matrix.
double product(const std::vector<float>& q, const Shape& shape, bool of_rows, std::int64_t i, std::int64_t j) {
  double sum = 0;
  for (std::int64_t k = 0; k < shape[of_rows ? 1 : 0]; ++k) {
    const auto at = [&](std::int64_t n) {
      return q[static_cast<std::size_t>(of_rows ? n * shape[1] + k : k * shape[1] + n)];
    };
    sum += static_cast<double>(at(i)) * at(j);
  }
  return sum;
}

TEST(Orthogonal, HasOrthonormalRowsOrColumns) {
  for (const Shape& shape : {Shape{16, 64}, Shape{64, 16}, Shape{9, 9}, Shape{1, 4}, Shape{1, 1}}) {
    const std::vector<float> q = values(orthogonal({.seed = 1}), shape);
    const bool of_rows = shape[0] < shape[1];
    const std::int64_t count = std::min(shape[0], shape[1]);
    for (std::int64_t i = 0; i < count; ++i)
      for (std::int64_t j = 0; j <= i; ++j)
        ASSERT_NEAR(product(q, shape, of_rows, i, j), i == j ? 1 : 0, tolerance(DType::f32, shape[of_rows ? 1 : 0], 1))
            << shape.text() << " " << i << " " << j;
  }
}

// Without the signs of R's diagonal the diagonal of Q would be biased; the elements of a uniformly distributed one have
// mean 0 and variance 1 / size. 4 standard deviations of the mean.
TEST(Orthogonal, FavorsNoDirection) {
  constexpr int draws = 2000;
  double sum = 0;
  for (std::uint64_t seed = 0; seed < draws; ++seed) sum += values(orthogonal({.seed = seed}), {3, 3})[0];
  EXPECT_LT(std::abs(sum / draws), 4 / std::sqrt(3.0 * draws));
}

TEST(Orthogonal, DependsOnTheKeyAlone) {
  const Shape shape{40, 160};
  const RandomKey key{.seed = 1, .stream = 2};
  const std::vector<float> drawn = values(orthogonal(key), shape);
  const ComputeThreadsScope three(3);
  EXPECT_EQ(values(orthogonal(key), shape), drawn);
  EXPECT_NE(values(orthogonal({.seed = 2, .stream = 2}), shape), drawn);
}

TEST(Orthogonal, RefusesVectors) { EXPECT_ERROR(InvalidArgument, "needs a matrix, got", values(orthogonal({}), {3})); }

TEST(ConstantInitializers, Fill) {
  EXPECT_EQ(values(zeros(), {3}), (std::vector<float>{0, 0, 0}));
  EXPECT_EQ(values(ones(), {3}), (std::vector<float>{1, 1, 1}));
}

}  // namespace
}  // namespace lockstep::test
