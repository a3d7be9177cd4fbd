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

TEST(ConstantInitializers, Fill) {
  EXPECT_EQ(values(zeros(), {3}), (std::vector<float>{0, 0, 0}));
  EXPECT_EQ(values(ones(), {3}), (std::vector<float>{1, 1, 1}));
}

}  // namespace
}  // namespace lockstep::test
