#include <cmath>

#include <gtest/gtest.h>
#include <support/expect_error.h>
#include <support/gradient_check.h>
#include <support/tensors.h>

#include <lockstep/models/losses/regression.h>

namespace lockstep {
namespace {

using Rows = std::vector<std::vector<double>>;

constexpr std::int64_t rows = 6;
constexpr std::int64_t width = 4;

/// A loss and its formula for one element in double precision.
struct Case {
  Loss loss;
  std::function<double(double y, double p)> element;
  double low = -2;        ///< of targets and predictions; positive for losses with logarithms
  double scale = 1;       ///< factor of the mean over the elements
  double magnitude = 10;  ///< magnitude of the summands
};

class RegressionLoss : public testing::TestWithParam<Case> {};

TEST_P(RegressionLoss, IsTheFormulaWithItsGradient) {
  const auto& [loss, element, low, scale, magnitude] = GetParam();
  const Tensor y = test::random_tensor({rows, width}, 1, low, 2);
  const std::vector<double> targets = y.to_vector<double>();
  const auto formula = [&](const Rows& x) {
    std::vector<double> losses(rows);
    for (std::size_t i = 0; i < targets.size(); ++i)
      losses[i / width] += scale * element(targets[i], x[0][i]) / static_cast<double>(width);
    return losses;
  };
  // Terms cancel within an element: the rounding error has the size of the terms, not of the sum.
  test::check_gradients([&](std::span<const Tensor> x) { return loss(y, x[0]); }, formula,
                        {test::random_tensor({rows, width}, 2, low, 2)}, {.length = width, .magnitude = magnitude});
}

TEST_P(RegressionLoss, TakesTargetsOfAnotherDtypeAndFlatOnesForOneOutput) {
  const Loss& loss = GetParam().loss;
  if (loss.name() == "kl_divergence") return;
  const Tensor p = Tensor::from(std::vector<float>{0.5F, 0.25F, 2, 1}, {4, 1});
  const Tensor expected = loss(Tensor::from(std::vector<float>{1, 0, 1, 3}, {4, 1}), p);
  EXPECT_EQ(expected.shape(), Shape{4});
  test::expect_same_bits(loss(Tensor::from(std::vector<std::uint8_t>{1, 0, 1, 3}, {4}), p), expected);
  test::expect_same_bits(loss(Tensor::from(std::vector<float>{1, 0, 1, 3}, {4}), p.view({4})), expected);
}

TEST_P(RegressionLoss, OfNoRowsIsNone) {
  EXPECT_EQ(GetParam().loss(Tensor::zeros({0, 3}), Tensor::zeros({0, 3})).shape(), Shape{0});
}

TEST_P(RegressionLoss, RefusesTargetsOfAnotherSize) {
  EXPECT_ERROR(InvalidArgument, GetParam().loss.name() + " takes targets of the predictions' size",
               GetParam().loss(Tensor::zeros({3, 2}), Tensor::zeros({3, 1})));
  EXPECT_THROW(GetParam().loss(Tensor(), Tensor::zeros({3, 1})), InvalidArgument);
}

double huber(double error, double delta) {
  const double size = std::abs(error);
  return size <= delta ? error * error / 2 : delta * size - delta * delta / 2;
}

INSTANTIATE_TEST_SUITE_P(
    All, RegressionLoss,
    testing::Values(Case{MeanSquaredError(), [](double y, double p) { return (y - p) * (y - p); }},
                    Case{MeanAbsoluteError(), [](double y, double p) { return std::abs(y - p); }},
                    Case{MeanAbsolutePercentageError(), [](double y, double p) { return 100 * std::abs((y - p) / y); },
                         0.5, 1, 400},
                    Case{MeanSquaredLogarithmicError(),
                         [](double y, double p) { return std::pow(std::log1p(y) - std::log1p(p), 2); }, 0.1},
                    Case{Huber(), [](double y, double p) { return huber(y - p, 1); }},
                    Case{Huber(0.5), [](double y, double p) { return huber(y - p, 0.5); }},
                    Case{LogCosh(), [](double y, double p) { return std::log(std::cosh(y - p)); }},
                    Case{Poisson(), [](double y, double p) { return p - y * std::log(p + 1e-7); }, 0.1},
                    Case{KLDivergence(),
                         [](double y, double p) {
                           return std::min(y, 1.0) * std::log(std::min(y, 1.0) / std::min(p, 1.0));
                         },
                         0.1, width}),
    [](const auto& info) { return info.param.loss.name() + std::to_string(info.index); });

TEST(RegressionLosses, KeepsToEpsilonWhereTheFormulaEnds) {
  const Tensor zero = Tensor::zeros({1, 1});
  const Tensor one = Tensor::full({1, 1}, 1);
  EXPECT_FLOAT_EQ(MeanAbsolutePercentageError()(zero, one).item<float>(), 1e9F);
  EXPECT_FLOAT_EQ(Poisson()(one, zero).item<float>(), static_cast<float>(-std::log(1e-7)));
  test::expect_close(KLDivergence()(one, zero), {-std::log(1e-7)});
  EXPECT_NEAR(KLDivergence()(zero, one).item<float>(), 0, 1e-5);
}

TEST(RegressionLosses, LogCoshOfLargeErrorsDoesNotOverflow) {
  EXPECT_FLOAT_EQ(LogCosh()(Tensor::zeros({1, 1}), Tensor::full({1, 1}, -1000)).item<float>(),
                  static_cast<float>(1000 - std::log(2.0)));
}

TEST(RegressionLosses, HuberNeedsADelta) { EXPECT_THROW(Huber(0), InvalidArgument); }

}  // namespace
}  // namespace lockstep
