#include <array>
#include <limits>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/expect_error.h>
#include <support/tensors.h>

#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/linear_algebra/norm.h>
#include <lockstep/runtime/autograd/tape.h>

namespace lockstep::test {
namespace {

TEST(Norm, TakesOrders) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const Tensor x = Tensor::from<float>({3, 0, -4, 1, 2, -2}, {2, 3});
  using ::testing::ElementsAre;
  EXPECT_THAT(norm(x, {1}, false, 0).to_vector<float>(), ElementsAre(2, 3));
  EXPECT_THAT(norm(x, {1}, false, 2).to_vector<float>(), ElementsAre(5, 3));
  EXPECT_EQ(norm(x, {0, 1}, true, 1).shape(), (Shape{1, 1}));
  for (const auto& [ord, expected] : {std::pair(1.0, 6.0), {-1.0, 2.0}, {infinity, 7.0}, {-infinity, 5.0}}) {
    EXPECT_EQ(norm(x, {0, 1}, false, ord).item<double>(), expected) << ord;
    EXPECT_EQ(norm(transpose(x), {-1, 0}, false, ord).item<double>(), expected) << ord;
  }
}

TEST(Norm, OfSingularValuesHasTheAxesOfOthers) {
  const Tensor x = Tensor::from<float>({3, 0, 0, -4, 0, 0}, {2, 3}).broadcast_view({5, 2, 3});
  for (const double ord : {1.0, 2.0, -2.0}) {
    EXPECT_EQ(norm(x, {1, 2}, false, ord).shape(), (Shape{5}));
    EXPECT_EQ(norm(x, {-1, 1}, true, ord).shape(), (Shape{5, 1, 1}));
    EXPECT_EQ(norm(x, {2, 0}, true, ord).shape(), (Shape{1, 2, 1}));
  }
  EXPECT_THAT(norm(x, {1, 2}, false, 2).to_vector<float>(), ::testing::Each(5));
  EXPECT_THAT(norm(x, {1, 2}, false, "nuc").to_vector<float>(), ::testing::Each(5));
  EXPECT_THAT(norm(x, {1, 2}, true, "fro").to_vector<float>(), ::testing::Each(5));
}

// The gradient of a sum of singular values has no part of those that are 0.
TEST(Norm, NuclearOfARankOneMatrixHasAGradient) {
  const Tensor x = Tensor::from<float>({3, 0, -4, 0}, {2, 2});
  GradientTape tape;
  tape.watch(x);
  const Tensor gradient = tape.gradient(norm(x, {0, 1}, false, "nuc"), std::array{x})[0];
  expect_close(gradient, {0.6, 0, -0.8, 0});
}

TEST(Norm, RefusesOtherOrders) {
  const Tensor x = Tensor::zeros({2, 3});
  EXPECT_ERROR(InvalidArgument, "norm of matrices takes the orders 1, -1, 2, -2, inf and -inf, got 3",
               norm(x, {0, 1}, false, 3));
  EXPECT_ERROR(InvalidArgument, "norm of an order takes one axis or two, got 0", norm(x, {}, false, 1));
  EXPECT_ERROR(InvalidArgument, "norm takes a number or the names fro and nuc as its order, got l2",
               norm(x, {0, 1}, false, "l2"));
  EXPECT_ERROR(InvalidArgument, "norm of order nuc takes two axes, got 1", norm(x, {0}, false, "nuc"));
  EXPECT_ERROR(InvalidArgument, "is given twice", norm(x, {1, -1}, false, 2));
}

}  // namespace
}  // namespace lockstep::test
