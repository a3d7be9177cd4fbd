#include <cmath>

#include <gmock/gmock.h>
#include <support/errors.h>
#include <support/tensors.h>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/random/dropout.h>
#include <lockstep/kernels/random/philox.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/runtime/autograd/tape.h>
#include <lockstep/runtime/thread/parallel.h>

namespace lockstep::test {
namespace {

const RandomKey key{.seed = 5, .stream = 1, .replica = 2, .step = 9};

TEST(Dropout, DropsAboutItsRate) {
  const std::int64_t n = 100'000;
  for (const float rate : {0.1F, 0.5F, 0.9F}) {
    double dropped = 0;
    for (const float y : dropout(Tensor::full({n}, 1), rate, key).to_vector<float>()) dropped += y == 0;
    const double p = static_cast<double>(rate);
    EXPECT_NEAR(dropped / n, p, 5 * std::sqrt(p * (1 - p) / n));  // five standard deviations
  }
}

TEST(Dropout, GradientHasTheSameMask) {
  const Tensor x = random_tensor({7, 11}, 1, 0.5, 1.5);
  for (const Tensor& in : {x, strided_copy(x)}) {
    GradientTape tape;
    tape.watch(in);
    const Tensor y = dropout(in, 0.4F, key);
    const Tensor weights = random_tensor({7, 11}, 2);
    const Tensor gradient = tape.gradient(sum(y * weights), std::span(&in, 1))[0];
    expect_same_bits(gradient, dropout(weights, 0.4F, key));
  }
}

TEST(Dropout, OtherStepsAndReplicasDropOtherElements) {
  const Tensor x = Tensor::full({1000}, 1);
  const auto mask = [&](const RandomKey& k) { return dropout(x, 0.5F, k).to_vector<float>(); };
  EXPECT_NE(mask(key), mask({.seed = 5, .stream = 1, .replica = 3, .step = 9}));
  EXPECT_NE(mask(key), mask({.seed = 5, .stream = 1, .replica = 2, .step = 10}));
}

TEST(Dropout, RateZeroReturnsItsInput) {
  const Tensor x = Tensor::full({3}, 1);
  EXPECT_EQ(dropout(x, 0, key).id(), x.id());
}

TEST(Dropout, RefusesOtherRates) {
  for (const float rate : {-0.1F, 1.0F, std::nanf("")})
    EXPECT_THAT(error_of<InvalidArgument>([&] { dropout(Tensor::zeros({2}), rate, key); }),
                ::testing::HasSubstr("a rate of at least 0 and less than 1, got"));
}

}  // namespace
}  // namespace lockstep::test
