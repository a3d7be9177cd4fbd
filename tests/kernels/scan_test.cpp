#include <cmath>
#include <cstdint>
#include <limits>

#include <gmock/gmock.h>
#include <support/expect_error.h>
#include <support/tensors.h>

#include <lockstep/kernels/scan/scan.h>

namespace lockstep::test {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsNan;

TEST(Cumsum, IsTensorFlows) {
  const Tensor x = Tensor::from<float>({1, 2, 3}, {3});
  EXPECT_THAT(cumsum(x, 0).to_vector<float>(), ElementsAre(1, 3, 6));
  EXPECT_THAT(cumsum(x, 0, {.exclusive = true}).to_vector<float>(), ElementsAre(0, 1, 3));
  EXPECT_THAT(cumsum(x, 0, {.reverse = true}).to_vector<float>(), ElementsAre(6, 5, 3));
  EXPECT_THAT(cumsum(x, 0, {.exclusive = true, .reverse = true}).to_vector<float>(), ElementsAre(5, 3, 0));
}

TEST(Cumsum, WithoutAnAxisHasOneAxis) {
  EXPECT_THAT(cumsum(Tensor::from<float>({1, 2, 3, 4}, {2, 2})).to_vector<float>(), ElementsAre(1, 3, 6, 10));
  EXPECT_EQ(cumsum(Tensor::zeros({2, 3})).shape(), (Shape{6}));
  EXPECT_EQ(cumsum(Tensor::zeros({})).shape(), (Shape{1}));
  EXPECT_EQ(cumprod(Tensor::zeros({2, 0})).shape(), (Shape{0}));
}

TEST(Cumsum, OfBfloat16RoundsResultsOnly) {
  // A running sum of bf16 would stop growing at 2^8.
  const std::vector<float> sums = cumsum(Tensor::full({1000}, 1, DType::bf16), 0).to_vector<float>();
  EXPECT_EQ(sums[255], 256);
  EXPECT_EQ(sums[999], 1000);
}

TEST(Cumsum, NanIsInTheSumsFromThereOn) {
  const Tensor x = Tensor::from<float>({1, 2, std::nanf(""), 4, 5}, {5});
  const std::vector<float> sums = cumsum(x, 0).to_vector<float>();
  EXPECT_THAT(std::vector(sums.begin(), sums.begin() + 2), ElementsAre(1, 3));
  EXPECT_THAT(std::vector(sums.begin() + 2, sums.end()), Each(IsNan()));
  const std::vector<float> before = cumsum(x, 0, {.exclusive = true}).to_vector<float>();
  EXPECT_THAT(std::vector(before.begin(), before.begin() + 3), ElementsAre(0, 1, 3));
  EXPECT_THAT(std::vector(before.begin() + 3, before.end()), Each(IsNan()));
}

TEST(Cumsum, OfIntegersIsExactAndWrapsAround) {
  const std::int64_t large = (std::int64_t{1} << 60) + 1;
  EXPECT_THAT(cumsum(Tensor::from<std::int64_t>({large, 1, -2}, {3}), 0).to_vector<std::int64_t>(),
              ElementsAre(large, large + 1, large - 1));
  const Tensor x = Tensor::from<std::int32_t>({2147483647, 1, 5, 7}, {2, 2});
  EXPECT_THAT(cumsum(x, 1).to_vector<std::int32_t>(), ElementsAre(2147483647, -2147483647 - 1, 5, 12));
  EXPECT_THAT(cumsum(x, 0, {.exclusive = true, .reverse = true}).to_vector<std::int32_t>(), ElementsAre(5, 7, 0, 0));
}

TEST(Cumsum, NamesAnAxisOutOfRange) {
  EXPECT_ERROR(InvalidArgument, "axis 1 is out of range for rank 1", cumsum(Tensor::zeros({2}), 1));
  EXPECT_ERROR(InvalidArgument, "axis 0 is out of range for rank 0", cumsum(Tensor::zeros({}), 0));
}

TEST(Cumprod, IsKeras) {
  const Tensor x = Tensor::from<float>({1, 2, 3, 4, 5, 6}, {2, 3});
  EXPECT_THAT(cumprod(x, 1).to_vector<float>(), ElementsAre(1, 2, 6, 4, 20, 120));
  EXPECT_THAT(cumprod(x, 0).to_vector<float>(), ElementsAre(1, 2, 3, 4, 10, 18));
  EXPECT_EQ(cumprod(Tensor::zeros({2, 0}), 1).shape(), (Shape{2, 0}));
}

TEST(Cumprod, OfIntegersIsExactAndWrapsAround) {
  const std::int64_t large = (std::int64_t{1} << 60) + 1;
  EXPECT_THAT(cumprod(Tensor::from<std::int64_t>({large, -1, 3}, {3}), 0).to_vector<std::int64_t>(),
              ElementsAre(large, -large, -3 * large));
  const Tensor x = Tensor::from<std::int32_t>({65536, 65537, 5, 7}, {2, 2});
  EXPECT_THAT(cumprod(x, 1).to_vector<std::int32_t>(), ElementsAre(65536, 65536, 5, 35));
  EXPECT_THAT(cumprod(x, 0).to_vector<std::int32_t>(), ElementsAre(65536, 65537, 327680, 458759));
}

TEST(Cumprod, MultipliesInDoublePrecision) {
  EXPECT_THAT(cumprod(Tensor::from<float>({1e30F, 1e30F, 1e-30F, 1e-30F}, {4}), 0).to_vector<float>(),
              ElementsAre(1e30F, std::numeric_limits<float>::infinity(), 1e30F, ::testing::FloatEq(1)));
}

TEST(Cumprod, NamesAnAxisOutOfRange) {
  EXPECT_ERROR(InvalidArgument, "axis 1 is out of range for rank 1", cumprod(Tensor::zeros({2}), 1));
}

// The expected values are those of keras.ops on JAX.
TEST(CumulativeOps, OfU8WrapAroundAndOfBoolCount) {
  const Tensor x = Tensor::from<std::uint8_t>({200, 100, 3, 0}, {4});
  EXPECT_THAT(cumsum(x).to_vector<std::uint8_t>(), ElementsAre(200, 44, 47, 47));
  EXPECT_THAT(cumprod(x).to_vector<std::uint8_t>(), ElementsAre(200, 32, 96, 0));
  EXPECT_THAT(diff(x).to_vector<std::uint8_t>(), ElementsAre(156, 159, 253));
  const Tensor truth = Tensor::from(std::vector<bool>{true, true, false, true}, {4});
  EXPECT_THAT(cumsum(truth).to_vector<std::int32_t>(), ElementsAre(1, 2, 2, 3));
  EXPECT_THAT(cumprod(truth).to_vector<std::int32_t>(), ElementsAre(1, 1, 0, 0));
  EXPECT_THAT(diff(truth, 2).to_vector<bool>(), ElementsAre(true, false));
}

}  // namespace
}  // namespace lockstep::test
