#include <cmath>
#include <numeric>

#include <fmt/core.h>

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

/// Checks 10,000 draws for a uniform distribution in [-limit, limit): all are inside, both ends are reached within 1 %,
/// and the mean is within 4 standard deviations of 0.
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
  // A convolution's window multiplies both fans.
  expect_uniform(values(glorot_uniform({.seed = 1}), {3, 5, 20, 40}), std::sqrt(6.0 / (15 * 20 + 15 * 40)));
}

TEST(GlorotUniform, DependsOnTheKeyAlone) {
  const Shape shape{301, 333};  // several chunks, not a multiple of a block
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

struct ScalingCase {
  const char* name;
  SeededInitializer initializer;
  double variance;  ///< times the fan-in of 500, for a kernel (5, 5, 20, 60)
  bool uniform;
};

void PrintTo(const ScalingCase& c, std::ostream* out) { *out << c.name; }

class VarianceScaling : public testing::TestWithParam<ScalingCase> {};

/// Mean and variance of the drawn numbers.
std::pair<double, double> moments(const std::vector<float>& drawn) {
  double sum = 0;
  double squares = 0;
  for (const float value : drawn) {
    sum += value;
    squares += static_cast<double>(value) * value;
  }
  const double mean = sum / static_cast<double>(drawn.size());
  return {mean, squares / static_cast<double>(drawn.size()) - mean * mean};
}

// Mean and variance of 30,000 draws must be within 4 standard deviations; that of the variance is at most sqrt(2 / n)
// of the variance, as for a normal distribution.
TEST_P(VarianceScaling, HasKerasVarianceAndLimits) {
  const std::vector<float> drawn = values(GetParam().initializer({.seed = 1}), {5, 5, 20, 60});
  const double variance = GetParam().variance / 500;
  const auto n = static_cast<double>(drawn.size());
  const auto [mean, found] = moments(drawn);
  EXPECT_LT(std::abs(mean), 4 * std::sqrt(variance / n));
  EXPECT_NEAR(found, variance, 4 * variance * std::sqrt(2 / n));
  if (GetParam().uniform) return expect_uniform(drawn, std::sqrt(3 * variance));
  // Truncated at two standard deviations of the normal distribution before truncation, as in Keras.
  const double cut = 2 * std::sqrt(variance) / .87962566103423978;
  const auto [least, most] = std::ranges::minmax(drawn);
  EXPECT_GT(least, -cut);
  EXPECT_LT(most, cut);
  EXPECT_LT(least, -0.95 * cut);
  EXPECT_GT(most, 0.95 * cut);
}

const ScalingCase scaling_cases[] = {
    {"glorot_uniform", glorot_uniform, 500.0 / 1000, true},
    {"glorot_normal", glorot_normal, 500.0 / 1000, false},
    {"he_uniform", he_uniform, 2, true},
    {"he_normal", he_normal, 2, false},
    {"lecun_uniform", lecun_uniform, 1, true},
    {"lecun_normal", lecun_normal, 1, false},
    {"fan_out", variance_scaling({.scale = 3, .mode = FanMode::fan_out}), 1, false},
};
INSTANTIATE_TEST_SUITE_P(Each, VarianceScaling, testing::ValuesIn(scaling_cases),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(VarianceScalingOfVectors, TakesTheirSizeForBothFans) {
  expect_uniform(values(glorot_uniform({.seed = 1}), {20000}), std::sqrt(3.0 / 20000));
  for (const double scale : {0.0, HUGE_VAL})
    EXPECT_ERROR(InvalidArgument, fmt::format("needs a finite scale above 0, got {}", scale),
                 variance_scaling({.scale = scale}));
}

TEST(RandomInitializers, HaveKerasDefaults) {
  const Shape shape{20000};
  const auto normal = moments(values(random_normal()({.seed = 1}), shape));
  EXPECT_NEAR(normal.second, 0.05 * 0.05, 4 * 0.05 * 0.05 * std::sqrt(2.0 / 20000));
  const std::vector<float> cut = values(truncated_normal({.mean = 3, .stddev = 0.5})({.seed = 1}), shape);
  EXPECT_NEAR(moments(cut).first, 3, 4 * 0.5 / std::sqrt(20000.0));
  EXPECT_GT(std::ranges::min(cut), 2);
  EXPECT_LT(std::ranges::max(cut), 4);
  expect_uniform(values(random_uniform()({.seed = 1}), shape), 0.05);
  const std::vector<float> above = values(random_uniform({.minval = 1, .maxval = 2})({.seed = 1}), shape);
  EXPECT_GE(std::ranges::min(above), 1);
  EXPECT_LE(std::ranges::max(above), 2);
  EXPECT_EQ(values(constant(0.25)({}), {2}), (std::vector<float>{0.25, 0.25}));
}

TEST(RandomInitializers, DependOnTheKeyAlone) {
  const Shape shape{301, 333};
  const RandomKey key{.seed = 1, .stream = 2};
  const SeededInitializer initializers[] = {random_normal(), truncated_normal(), random_uniform()};
  for (const SeededInitializer& initializer : initializers) {
    std::vector<float> serial;
    {
      const ComputeThreadsScope one(1);
      serial = values(initializer(key), shape);
    }
    const ComputeThreadsScope three(3);
    EXPECT_EQ(values(initializer(key), shape), serial);
    EXPECT_NE(values(initializer({.seed = 2, .stream = 2}), shape), serial);
  }
}

/// The inner product of rows (or columns) i and j of a matrix.
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
    const std::vector<float> q = values(orthogonal()({.seed = 1}), shape);
    const bool of_rows = shape[0] < shape[1];
    const std::int64_t count = std::min(shape[0], shape[1]);
    for (std::int64_t i = 0; i < count; ++i)
      for (std::int64_t j = 0; j <= i; ++j)
        ASSERT_NEAR(product(q, shape, of_rows, i, j), i == j ? 1 : 0, tolerance(DType::f32, shape[of_rows ? 1 : 0], 1))
            << shape.text() << " " << i << " " << j;
  }
}

// Without the signs of R's diagonal, the diagonal of Q would be biased; the elements of a uniformly distributed Q have
// mean 0 and variance 1 / size. Allows 4 standard deviations of the mean.
TEST(Orthogonal, FavorsNoDirection) {
  constexpr int draws = 2000;
  double sum = 0;
  for (std::uint64_t seed = 0; seed < draws; ++seed) sum += values(orthogonal()({.seed = seed}), {3, 3})[0];
  EXPECT_LT(std::abs(sum / draws), 4 / std::sqrt(3.0 * draws));
}

TEST(Orthogonal, DependsOnTheKeyAlone) {
  const Shape shape{40, 160};
  const RandomKey key{.seed = 1, .stream = 2};
  const std::vector<float> drawn = values(orthogonal()(key), shape);
  const ComputeThreadsScope three(3);
  EXPECT_EQ(values(orthogonal()(key), shape), drawn);
  EXPECT_NE(values(orthogonal()({.seed = 2, .stream = 2}), shape), drawn);
}

TEST(Orthogonal, RefusesVectors) {
  EXPECT_ERROR(InvalidArgument, "needs a matrix, got", values(orthogonal()({}), {3}));
}

TEST(ConstantInitializers, Fill) {
  EXPECT_EQ(values(zeros(), {3}), (std::vector<float>{0, 0, 0}));
  EXPECT_EQ(values(ones(), {3}), (std::vector<float>{1, 1, 1}));
}

}  // namespace
}  // namespace lockstep::test
