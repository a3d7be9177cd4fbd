#include <cmath>

#include <gtest/gtest.h>
#include <support/expect_error.h>
#include <support/tensors.h>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/normalization/group_norm.h>

namespace lockstep::test {
namespace {

// With a mean of a thousand deviations, f32 would lose the whole variance in E[x^2] - E[x]^2.
TEST(GroupNorm, SurvivesALargeMean) {
  const Tensor x = random_tensor({2, 75, 4}, 1, 999, 1001);
  const Tensor y = group_norm(x, 2, Tensor::full({4}, 1), Tensor::zeros({4}));
  const Tensor of_deviations = group_norm(x - 1000.0, 2, Tensor::full({4}, 1), Tensor::zeros({4}));
  expect_close(y, of_deviations.to_vector<double>(), 1, 1000);
}

TEST(GroupNorm, SurvivesAnExtremePlace) {
  constexpr std::int64_t places = 4096;
  for (const std::int64_t extreme : {std::int64_t{0}, places / 2, places - 1}) {
    std::vector<float> values(places);
    values[static_cast<std::size_t>(extreme)] = 123456792;
    const Tensor y = group_norm(Tensor::from(values, {1, places, 1}), 1, Tensor::full({1}, 1), Tensor::zeros({1}));
    const double others = -1 / std::sqrt(static_cast<double>(places - 1));
    EXPECT_NEAR(y.to_vector<double>()[1], others, 1e-6) << extreme;
  }
}

TEST(GroupNorm, OfEqualElementsIsBeta) {
  const Tensor x = Tensor::full({2, 300, 4}, 1000.1);
  const Tensor y = group_norm(x, 2, Tensor::full({4}, 1), Tensor::full({4}, 0.5));
  expect_close(y, std::vector<double>(static_cast<std::size_t>(x.elements()), 0.5), 1, 10);
}

TEST(GroupNorm, TakesExamplesWithoutPlaces) {
  EXPECT_EQ(group_norm(Tensor::zeros({2, 0, 4}), 2, Tensor::zeros({4}), Tensor::zeros({4})).shape(), Shape({2, 0, 4}));
}

TEST(GroupNorm, NamesShapesThatDoNotFit) {
  const std::vector<Tensor> in{Tensor::zeros({4, 3, 6}), Tensor::zeros({6}), Tensor::zeros({6})};
  EXPECT_ERROR(InvalidArgument, "x must be f32 or bf16 (n, ..., channels), got f32 (6)",
               group_norm(in[1], 2, in[1], in[2]));
  EXPECT_ERROR(InvalidArgument, "the number of channels of x (4, 3, 6) must be divisible by 4 groups",
               group_norm(in[0], 4, in[1], in[2]));
  EXPECT_ERROR(InvalidArgument, "divisible by 0 groups", group_norm(in[0], 0, in[1], in[2]));
  EXPECT_ERROR(InvalidArgument, "gamma for x (4, 3, 6) must be f32 (6), got f32 (3)",
               group_norm(in[0], 2, Tensor::zeros({3}), in[2]));
  EXPECT_ERROR(InvalidArgument, "beta for x (4, 3, 6) must be f32 (6)", group_norm(in[0], 2, in[1], {}));
}

}  // namespace
}  // namespace lockstep::test
