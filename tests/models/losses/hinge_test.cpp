#include <algorithm>

#include <gtest/gtest.h>
#include <models/losses/rows.h>
#include <support/expect_error.h>
#include <support/gradient_check.h>
#include <support/tensors.h>

#include <lockstep/models/losses/hinge.h>

namespace lockstep {
namespace {

using test::Rows;
using test::rows;
using test::width;

Tensor floats(const std::vector<float>& values, const Shape& shape) { return Tensor::from(values, shape); }

/// The mean over each row of max(1 - y p, 0), or of its square.
std::vector<double> hinge_reference(const std::vector<double>& y, const std::vector<double>& p, bool squared) {
  std::vector<double> losses(y.size() / width);
  for (std::size_t i = 0; i < y.size(); ++i) {
    const double hinge = std::max(1 - y[i] * p[i], 0.0);
    losses[i / width] += (squared ? hinge * hinge : hinge) / width;
  }
  return losses;
}

TEST(Hinge, IsTheFormulaWithItsGradient) {
  const Tensor y = test::random_tensor({rows, width}, 1, -2, 2);
  for (const bool squared : {false, true}) {
    const Loss loss = squared ? Loss(SquaredHinge()) : Loss(Hinge());
    test::check_gradients([&](std::span<const Tensor> x) { return loss(y, x[0]); },
                          [&](const Rows& x) { return hinge_reference(y.to_vector<double>(), x[0], squared); },
                          {test::random_tensor({rows, width}, 2, -2, 2)}, {.length = width, .magnitude = 10});
  }
}

TEST(Hinge, TakesTargetsOfZeroAndOneForMinusOneAndOne) {
  const Tensor p = test::random_tensor({2, 2}, 1, -2, 2);
  for (const Loss& loss : {Loss(Hinge()), Loss(SquaredHinge())}) {
    const Tensor expected = loss(floats({-1, 1, 1, -1}, {2, 2}), p);
    test::expect_same_bits(loss(floats({0, 1, 1, 0}, {2, 2}), p), expected);
    test::expect_same_bits(loss(Tensor::from(std::vector<std::uint8_t>{0, 1, 1, 0}, {2, 2}), p), expected);
  }
  // One target is neither 0 nor 1, so that 0 stays 0, whose hinge is 1.
  EXPECT_FLOAT_EQ(Hinge()(floats({0, -1}, {1, 2}), floats({3, 0.5F}, {1, 2})).item<float>(), (1 + 1.5F) / 2);
}

/// max(1 + largest (1 - y) p - sum of y p, 0), by row.
std::vector<double> categorical_reference(const std::vector<double>& y, const std::vector<double>& p) {
  std::vector<double> losses;
  for (std::size_t i = 0; i < y.size(); i += width) {
    double own = 0;
    double other = -1e9;
    for (std::size_t k = i; k < i + width; ++k) {
      own += y[k] * p[k];
      other = std::max(other, (1 - y[k]) * p[k]);
    }
    losses.push_back(std::max(1 + other - own, 0.0));
  }
  return losses;
}

TEST(CategoricalHinge, IsTheFormulaWithItsGradient) {
  const Tensor y = test::random_tensor({rows, width}, 1, 0, 1);
  test::check_gradients([&](std::span<const Tensor> x) { return CategoricalHinge()(y, x[0]); },
                        [&](const Rows& x) { return categorical_reference(y.to_vector<double>(), x[0]); },
                        {test::random_tensor({rows, width}, 2, -2, 2)}, {.length = width, .magnitude = 10});
}

TEST(CategoricalHinge, OfSequencesIsTheMeanOverTheirSteps) {
  const Tensor y = floats({0, 1, 0, 0}, {2, 2});
  const Tensor p = floats({0.6F, 0.4F, 0.4F, 0.6F}, {2, 2});
  test::expect_close(CategoricalHinge()(y, p), {1 + 0.6 - 0.4, 1 + 0.6});
  test::expect_close(CategoricalHinge()(y.view({1, 2, 2}), p.view({1, 2, 2})), {(1.2 + 1.6) / 2});
}

TEST(Hinge, OfNoRowsIsNoneAndOfOtherSizesRefused) {
  for (const Loss& loss : {Loss(Hinge()), Loss(SquaredHinge()), Loss(CategoricalHinge())}) {
    EXPECT_EQ(loss(Tensor::zeros({0, 3}), Tensor::zeros({0, 3})).shape(), Shape{0});
    EXPECT_ERROR(InvalidArgument, loss.name() + " takes targets of the predictions' shape",
                 loss(Tensor::zeros({3, 2}), Tensor::zeros({3, 1})));
  }
  EXPECT_ERROR(InvalidArgument, "categorical_hinge takes predictions (n, ..., classes)",
               CategoricalHinge()(Tensor::zeros({3}), Tensor::zeros({3})));
}

}  // namespace
}  // namespace lockstep
