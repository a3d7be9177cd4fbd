#include <array>
#include <cmath>
#include <cstdint>
#include <limits>

#include <gmock/gmock.h>
#include <support/errors.h>
#include <support/tensors.h>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/array/statistics.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/kernels/scan/product.h>
#include <lockstep/runtime/autograd/tape.h>

namespace lockstep::test {
namespace {

TEST(Sum, KeepsOrDropsTheSummedAxes) {
  const Tensor x = Tensor::zeros({2, 3, 4});
  EXPECT_EQ(sum(x).shape(), Shape{});
  EXPECT_EQ(sum(x, {1}).shape(), (Shape{2, 4}));
  EXPECT_EQ(sum(x, {0, -1}, true).shape(), (Shape{1, 3, 1}));
  EXPECT_EQ(mean(x, {0, 1, 2}).shape(), Shape{});
}

TEST(Sum, OfManyElementsIsRoundedOnce) {
  // A running f32 sum of these would stop growing at 2^24.
  EXPECT_EQ(sum(Tensor::full({40'000'001}, 1)).item<float>(), 40'000'001.0F);
  const Tensor x = random_tensor({3, 70'001}, 3, 0, 1);
  const auto values = x.to_vector<double>();
  for (std::size_t row = 0; row < 3; ++row) {
    double exact = 0;
    for (std::size_t i = 0; i < 70'001; ++i) exact += values[row * 70'001 + i];
    EXPECT_EQ(sum(x, {1}).to_vector<float>()[row], static_cast<float>(exact));
  }
}

TEST(Mean, OfBfloat16IsRoundedOnce) {
  // 257 is not a bf16: as a divisor of that dtype it was 256.
  std::vector<float> values(257, 1);
  values.back() = 0;
  const Tensor x = cast(Tensor::from(values, {257}), DType::bf16);
  GradientTape tape;
  tape.watch(x);
  const Tensor y = mean(x);
  EXPECT_EQ(y.to_vector<float>().front(), 0.99609375F);  // nearest to 256 / 257
  const Tensor gradient = tape.gradient(y, std::span(&x, 1)).front();
  EXPECT_EQ(gradient.to_vector<float>().front(),
            cast(Tensor::full({}, 1.0 / 257), DType::bf16).to_vector<float>().front());
}

TEST(Mean, OfNothingIsNan) {
  EXPECT_TRUE(std::isnan(mean(Tensor::zeros({0})).item<float>()));
  EXPECT_EQ(sum(Tensor::zeros({0})).item<float>(), 0);
  EXPECT_THAT(mean(Tensor::zeros({0, 3}), {0}).to_vector<float>(), ::testing::Each(::testing::IsNan()));
}

TEST(Reduction, ErrorsNameAxisAndShape) {
  EXPECT_EQ(error_of<InvalidArgument>([] {
              sum(Tensor::zeros({2, 3}), {1, -1});
            }),
            "axis -1 of shape (2, 3) is given twice");
  EXPECT_THAT(error_of<InvalidArgument>([] { sum(Tensor::zeros({2, 3}), {2}); }), ::testing::HasSubstr("2"));
  EXPECT_THAT(error_of<InvalidArgument>([] { mean(Tensor()); }), ::testing::HasSubstr("mean takes a tensor"));
}

TEST(Mean, OfIntegersAndBoolsIsF32) {
  const Tensor x = Tensor::from<int>({1, 0, 3, 3, 0, 3}, {2, 3});
  for (const DType dtype : {DType::i32, DType::i64, DType::u8}) {
    const Tensor y = mean(cast(x, dtype), {0});
    EXPECT_EQ(y.dtype(), DType::f32);
    EXPECT_THAT(y.to_vector<float>(), ::testing::ElementsAre(2, 0, 3)) << name(dtype);
  }
  EXPECT_EQ(mean(cast(x, DType::boolean)).item<float>(), 4.0F / 6);
}

TEST(Argmax, DropsOrKeepsTheAxis) {
  const Tensor x = random_tensor({4, 5, 7}, 3);
  EXPECT_EQ(argmax(x).shape(), Shape{});
  EXPECT_EQ(argmax(x, {}, true).shape(), (Shape{1, 1, 1}));
  EXPECT_EQ(argmax(x, -1).shape(), (Shape{4, 5}));
  EXPECT_EQ(argmax(x, 1).shape(), (Shape{4, 7}));
  EXPECT_EQ(argmin(x, 1, true).shape(), (Shape{4, 1, 7}));
}

TEST(Argmax, OfIntegersIsExact) {
  const std::int64_t large = std::int64_t{1} << 60;
  const Tensor x = Tensor::from<std::int64_t>({large, large + 1, large + 1, -large, -large - 1, -large}, {2, 3});
  EXPECT_EQ(argmax(x).item<std::int64_t>(), 1);
  EXPECT_EQ(argmin(x).item<std::int64_t>(), 4);
  EXPECT_THAT(argmax(x, -1).to_vector<int>(), ::testing::ElementsAre(1, 0));
  EXPECT_THAT(argmin(x, 1, true).to_vector<int>(), ::testing::ElementsAre(0, 1));
  EXPECT_THAT(argmin(x, 0).to_vector<int>(), ::testing::ElementsAre(1, 1, 1));
  EXPECT_THAT(argmax(Tensor::from<bool>({false, true, true, false}, {2, 2}), -1).to_vector<int>(),
              ::testing::ElementsAre(1, 0));
  EXPECT_THAT(argmin(Tensor::from<std::uint8_t>({200, 3, 255, 3}, {4})).to_vector<int>(), ::testing::ElementsAre(1));
  EXPECT_EQ(argmax(Tensor::zeros({0, 3}, DType::i32), -1).elements(), 0);
  EXPECT_EQ(argmax(Tensor::zeros({0, 0}, DType::i32), -1).elements(), 0);
}

TEST(Max, SharesItsGradientAmongEquals) {
  const Tensor x = Tensor::from<float>({1, 3, 3, 2, 2, 2, 5, 4, 3}, {3, 3});
  for (const DType dtype : {DType::f32, DType::bf16}) {
    const auto gradient = [&](Tensor (*op)(const Tensor&, const std::vector<int>&, bool)) {
      const Tensor in = cast(x, dtype);
      GradientTape tape;
      tape.watch(in);
      return tape.gradient(sum(op(in, {1}, false)), std::span(&in, 1)).front().to_vector<float>();
    };
    const float third = cast(Tensor::full({}, 1.0 / 3), dtype).to_vector<float>().front();
    using ::testing::ElementsAre;
    EXPECT_THAT(gradient(max), ElementsAre(0, 0.5F, 0.5F, third, third, third, 1, 0, 0));
    EXPECT_THAT(gradient(min), ElementsAre(1, 0, 0, third, third, third, 0, 0, 1));
  }
}

TEST(Max, OfNanIsNanAndOfNothingAnError) {
  const float nan = std::nanf("");
  for (const int at : {0, 1, 2}) {
    std::vector<float> values{1, 2, 3};
    values[static_cast<std::size_t>(at)] = nan;
    EXPECT_TRUE(std::isnan(max(Tensor::from(values, {3})).item<float>()));
    EXPECT_TRUE(std::isnan(min(Tensor::from(values, {3})).item<float>()));
  }
  EXPECT_EQ(max(Tensor::full({3}, -std::numeric_limits<double>::infinity())).item<float>(),
            -std::numeric_limits<float>::infinity());
  EXPECT_EQ(max(Tensor::zeros({0, 3}), {1}).elements(), 0);
  EXPECT_THAT(error_of<InvalidArgument>([] {
                max(Tensor::zeros({0, 3}), {0});
              }),
              ::testing::HasSubstr("max of f32 (0, 3) on"));
  EXPECT_EQ(prod(Tensor::zeros({0})).item<float>(), 1);
}

TEST(Sum, OfBoolsCounts) {
  const Tensor x = Tensor::from<bool>({true, false, true, true, false, false}, {2, 3});
  EXPECT_EQ(sum(x).item<std::int32_t>(), 3);
  EXPECT_EQ(sum(x, {1}).to_vector<std::int32_t>(), (std::vector<std::int32_t>{2, 1}));
}

TEST(Max, OfIntegersIsExact) {
  const std::int64_t large = (1LL << 53) + 1;  // no double
  const Tensor x = Tensor::from<std::int64_t>({large, 1 - large, 3, large - 1}, {2, 2});
  EXPECT_EQ(max(x).item<std::int64_t>(), large);
  EXPECT_THAT(min(x, {0}).to_vector<std::int64_t>(), ::testing::ElementsAre(3, 1 - large));
  EXPECT_THAT(prod(Tensor::full({2, 40}, 2, DType::i64), {1}).to_vector<std::int64_t>(),
              ::testing::Each(std::int64_t{1} << 40));
  EXPECT_EQ(sum(Tensor::full({70'000}, 1 << 20, DType::i32)).item<std::int32_t>(),
            static_cast<std::int32_t>((70'000LL << 20) - (17LL << 32)));  // wraps around
}

TEST(AnyAndAll, ReduceAllOrKeepTheAxes) {
  const Tensor x = Tensor::from<float>({0, 0.5F, 2, 1}, {2, 2});
  EXPECT_TRUE(any(x).item<bool>());
  EXPECT_FALSE(all(x).item<bool>());
  EXPECT_EQ(all(x, {1}, true).shape(), (Shape{2, 1}));
  EXPECT_FALSE(any(Tensor::zeros({0})).item<bool>());
  EXPECT_TRUE(all(Tensor::zeros({0})).item<bool>());
}

TEST(Logsumexp, DoesNotOverflow) {
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_FLOAT_EQ(logsumexp(Tensor::from<float>({1000, 1000}, {2})).item<float>(), 1000.6931F);
  EXPECT_FLOAT_EQ(logsumexp(Tensor::from<float>({-1000, -1000}, {2})).item<float>(), -999.30685F);
  EXPECT_EQ(logsumexp(Tensor::full({2}, -infinity)).item<float>(), -infinity);
  EXPECT_EQ(logsumexp(Tensor::from<float>({infinity, 1}, {2})).item<float>(), infinity);
}

TEST(Argmax, OfNothingIsAnError) {
  EXPECT_THAT(error_of<InvalidArgument>([] {
                argmax(Tensor::zeros({2, 0}), -1);
              }),
              ::testing::HasSubstr("axis 1 has no elements"));
  EXPECT_THAT(error_of<InvalidArgument>([] { argmax(Tensor::zeros({0})); }),
              ::testing::HasSubstr("there are no elements"));
}

/// The gradient of sum(prod(x)) over the last axis.
std::vector<float> gradient_of_product(const Tensor& x) {
  GradientTape tape;
  tape.watch(x);
  return tape.gradient(sum(prod(x, {-1})), std::array{x}).front().to_vector<float>();
}

// The product of the others is in range where that of all is not.
TEST(Prod, HasGradientsWhereTheWholeIsOutOfRange) {
  using ::testing::ElementsAre;
  using ::testing::FloatEq;
  EXPECT_THAT(gradient_of_product(Tensor::from<float>({1e-30F, 2e-30F}, {2})),
              ElementsAre(FloatEq(2e-30F), FloatEq(1e-30F)));
  EXPECT_THAT(gradient_of_product(Tensor::from<float>({1e30F, 1e20F, 2}, {3})),
              ElementsAre(FloatEq(2e20F), FloatEq(2e30F), std::numeric_limits<float>::infinity()));
  EXPECT_THAT(gradient_of_product(Tensor::from<float>({0, 1e30F, 1e30F, 1e-30F}, {1, 4})),
              ElementsAre(FloatEq(1e30F), 0, 0, 0));
}

TEST(Argmax, TakesTheFirstNan) {
  const float nan = std::nanf("");
  for (const std::int64_t n : {3, 40, 3000}) {
    std::vector<float> x(static_cast<std::size_t>(n), 1);
    x[0] = 7;
    x[1] = -7;
    for (const std::int64_t at : {n - 1, n / 2, std::int64_t{0}}) {
      x[static_cast<std::size_t>(at)] = nan;  // besides those at larger places
      EXPECT_EQ(argmax(Tensor::from(x, {n})).item<std::int64_t>(), at) << n;
      EXPECT_EQ(argmin(Tensor::from(x, {n})).item<std::int64_t>(), at) << n;
    }
  }
}

}  // namespace
}  // namespace lockstep::test
