#include <cmath>
#include <limits>

#include <gtest/gtest.h>
#include <models/losses/rows.h>
#include <support/expect_error.h>
#include <support/gradient_check.h>
#include <support/tensors.h>

#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/models/losses/regression.h>
#include <lockstep/runtime/autograd/tape.h>

namespace lockstep {
namespace {

using test::Rows;
using test::rows;
using test::width;

/// A loss and its formula for one element in double precision.
struct RegressionCase {
  Loss loss;
  std::function<double(double y, double p)> element;
  double low = -2;        ///< of targets and predictions; positive for losses with logarithms
  double scale = 1;       ///< factor of the mean over the elements
  double magnitude = 10;  ///< magnitude of the summands
};

class RegressionLoss : public testing::TestWithParam<RegressionCase> {};

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
  EXPECT_ERROR(InvalidArgument, GetParam().loss.name() + " takes targets of the predictions' shape",
               GetParam().loss(Tensor::zeros({3, 2}), Tensor::zeros({3, 1})));
  EXPECT_THROW(GetParam().loss(Tensor(), Tensor::zeros({3, 1})), InvalidArgument);
}

double huber(double error, double delta) {
  const double size = std::abs(error);
  return size <= delta ? error * error / 2 : delta * size - delta * delta / 2;
}

INSTANTIATE_TEST_SUITE_P(
    All, RegressionLoss,
    testing::Values(RegressionCase{MeanSquaredError(), [](double y, double p) { return (y - p) * (y - p); }},
                    RegressionCase{MeanAbsoluteError(), [](double y, double p) { return std::abs(y - p); }},
                    RegressionCase{MeanAbsolutePercentageError(),
                                   [](double y, double p) { return 100 * std::abs((y - p) / y); }, 0.5, 1, 400},
                    RegressionCase{MeanSquaredLogarithmicError(),
                                   [](double y, double p) { return std::pow(std::log1p(y) - std::log1p(p), 2); }, 0.1},
                    RegressionCase{Huber(), [](double y, double p) { return huber(y - p, 1); }},
                    RegressionCase{Huber(0.5), [](double y, double p) { return huber(y - p, 0.5); }},
                    RegressionCase{LogCosh(), [](double y, double p) { return std::log(std::cosh(y - p)); }},
                    RegressionCase{Poisson(), [](double y, double p) { return p - y * std::log(p + 1e-7); }, 0.1},
                    RegressionCase{KLDivergence(),
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

/// -cos of the angle between y and p along the axis of `width`, whose elements are `stride` apart; by group.
std::vector<double> cosines(const std::vector<double>& y, const std::vector<double>& p, std::size_t stride) {
  std::vector<double> result;
  for (std::size_t first = 0; first < y.size(); first += stride * width)
    for (std::size_t at = first; at < first + stride; ++at) {
      double both = 0;
      double yy = 0;
      double pp = 0;
      for (std::size_t i = at; i < at + stride * width; i += stride) {
        both += y[i] * p[i];
        yy += y[i] * y[i];
        pp += p[i] * p[i];
      }
      result.push_back(-both / std::sqrt(yy * pp));
    }
  return result;
}

TEST(CosineSimilarity, IsTheFormulaWithItsGradient) {
  const Tensor y = test::random_tensor({rows, width}, 1, -2, 2);
  test::check_gradients([&](std::span<const Tensor> x) { return CosineSimilarity()(y, x[0]); },
                        [&](const Rows& x) { return cosines(y.to_vector<double>(), x[0], 1); },
                        {test::random_tensor({rows, width}, 2, -2, 2)}, {.length = width, .magnitude = 4});
}

TEST(CosineSimilarity, AlongAnotherAxisIsTheMeanOverTheRest) {
  const Tensor y = test::random_tensor({rows, width, 3}, 1, -2, 2);
  const auto formula = [&](const Rows& x) {
    const std::vector<double> each = cosines(y.to_vector<double>(), x[0], 3);
    std::vector<double> losses;
    for (std::size_t i = 0; i < each.size(); i += 3) losses.push_back((each[i] + each[i + 1] + each[i + 2]) / 3);
    return losses;
  };
  for (const int axis : {1, -2})
    test::check_gradients([&](std::span<const Tensor> x) { return CosineSimilarity(axis)(y, x[0]); }, formula,
                          {test::random_tensor({rows, width, 3}, 2, -2, 2)}, {.length = width * 3, .magnitude = 4});
}

TEST(CosineSimilarity, OfZerosIsZeroWithAGradient) {
  const Tensor y = Tensor::from(std::vector<float>{3, 4}, {1, 2});
  const Tensor zero = Tensor::zeros({1, 2});
  GradientTape tape;
  tape.watch(zero);
  const Tensor loss = CosineSimilarity()(y, zero);
  EXPECT_EQ(loss.item<float>(), 0);
  test::expect_close(tape.gradient(sum(loss), std::span(&zero, 1))[0], {-0.6e7, -0.8e7});
}

TEST(CosineSimilarity, RefusesTheAxisOfTheExamples) {
  for (const int axis : {0, -2})
    EXPECT_ERROR(InvalidArgument, "cosine_similarity takes predictions (n, ...) with an axis",
                 CosineSimilarity{axis}(Tensor::zeros({3, 2}), Tensor::zeros({3, 2})));
  EXPECT_THROW(CosineSimilarity()(Tensor::zeros({3}), Tensor::zeros({3})), InvalidArgument);
  EXPECT_THROW(CosineSimilarity(2)(Tensor::zeros({3, 2}), Tensor::zeros({3, 2})), InvalidArgument);
}

TEST(RegressionLosses, HuberNeedsADelta) {
  EXPECT_THROW(Huber(0), InvalidArgument);
  EXPECT_ERROR(InvalidArgument, "Huber: delta must be finite, got inf",
               (void)Huber(std::numeric_limits<double>::infinity()));
}

}  // namespace
}  // namespace lockstep
