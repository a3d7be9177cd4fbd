#include <gtest/gtest.h>
#include <models/losses/rows.h>
#include <support/expect_error.h>
#include <support/gradient_check.h>
#include <support/tensors.h>

#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/models/losses/overlap.h>
#include <lockstep/runtime/autograd/tape.h>

namespace lockstep {
namespace {

using Numbers = std::vector<double>;
using test::Rows;

constexpr std::size_t overlap_examples = 3;
constexpr std::size_t size = 8;  // of an example
const Shape shape{overlap_examples, 2, 2, 2};

/// The indices of each group of elements that a sum is over, by example: all elements, those of an example, or those of
/// an example's channel.
std::vector<std::vector<std::size_t>> groups_of(const std::vector<std::int64_t>& axis) {
  std::vector<std::vector<std::size_t>> groups(axis.empty()       ? 1
                                               : axis.size() == 3 ? overlap_examples
                                                                  : overlap_examples * 2);
  for (std::size_t i = 0; i < overlap_examples * size; ++i)
    groups[axis.empty() ? 0 : axis.size() == 3 ? i / size : i / size * 2 + i % 2].push_back(i);
  return groups;
}

/// 1 - tp / (tp + alpha fn + beta fp), by example.
Numbers reference(const std::vector<std::int64_t>& axis, const Numbers& y, const Numbers& p, double alpha,
                  double beta) {
  const auto groups = groups_of(axis);
  Numbers losses(overlap_examples);
  for (std::size_t row = 0; row < overlap_examples; ++row) {
    const std::size_t each = groups.size() < overlap_examples ? 0 : groups.size() / overlap_examples;
    for (std::size_t group = row * each; group < (each == 0 ? 1 : (row + 1) * each); ++group) {
      double hit = 0;
      double missed = 0;
      double wrong = 0;
      for (const std::size_t i : groups[group]) {
        hit += y[i] * p[i];
        missed += y[i] * (1 - p[i]);
        wrong += (1 - y[i]) * p[i];
      }
      losses[row] += (1 - hit / (hit + alpha * missed + beta * wrong)) / static_cast<double>(each == 0 ? 1 : each);
    }
  }
  return losses;
}

class OverlapOver : public testing::TestWithParam<std::vector<std::int64_t>> {};

TEST_P(OverlapOver, IsTheFormulaWithItsGradient) {
  const Tensor y = test::random_tensor(shape, 1, 0, 1);
  const Tensor p = test::random_tensor(shape, 2, 0, 1);
  const auto check = [&](const Loss& loss, double alpha, double beta) {
    test::check_gradients(
        [&](std::span<const Tensor> x) { return loss(y, x[0]); },
        [&](const Rows& x) { return reference(GetParam(), y.to_vector<double>(), x[0], alpha, beta); }, {p},
        {.length = overlap_examples * size, .magnitude = 4});
  };
  check(Dice({.axis = GetParam()}), 0.5, 0.5);
  check(Tversky({.axis = GetParam()}), 0.5, 0.5);
  check(Tversky({.alpha = 0.3, .beta = 0.8, .axis = GetParam()}), 0.3, 0.8);
}

INSTANTIATE_TEST_SUITE_P(Axes, OverlapOver,
                         testing::Values(std::vector<std::int64_t>{}, std::vector<std::int64_t>{1, 2, 3},
                                         std::vector<std::int64_t>{-3, 2}));

// Values from Keras' documentation.
TEST(Dice, IsKerasExample) {
  const Tensor y = Tensor::from(std::vector<std::uint8_t>{1, 1, 0, 0, 1, 1, 0, 0}, {2, 2, 2, 1});
  const Tensor p = Tensor::from(std::vector<float>{0, 1, 0, 1, 0.4F, 0, 0, 0.9F}, {2, 2, 2, 1});
  test::expect_close(Dice({.axis = {1, 2, 3}})(y, p), {0.5, 0.75757575}, 8);
  test::expect_close(Dice()(y, p), {0.6164384, 0.6164384}, 8);
}

TEST(Dice, OverExamplesIsTheMeanOverTheOtherAxes) {
  const Tensor y = Tensor::from(std::vector<float>{1, 0, 1, 1}, {2, 2});
  const Tensor p = Tensor::from(std::vector<float>{0.5F, 0.25F, 1, 0.5F}, {2, 2});
  const double mean = 1 - (2 * 1.5 / (2 + 1.5) + 2 * 0.5 / (1 + 0.75)) / 2;
  for (const std::int64_t axis : {0, -2}) test::expect_close(Dice({.axis = {axis}})(y, p), {mean, mean}, 2);
}

TEST(Overlap, OfNothingIsAWholeLossWithoutAGradient) {
  const Tensor none = Tensor::zeros({2, 3});
  for (const Loss& loss : {Loss(Dice()), Loss(Tversky()), Loss(Dice({.axis = {1}})), Loss(Tversky({.axis = {1}}))}) {
    GradientTape tape;
    const Tensor p = Tensor::zeros({2, 3});
    tape.watch(p);
    const Tensor losses = loss(none, p);
    test::expect_close(losses, {1, 1});
    test::expect_close(tape.gradient(sum(losses), std::span(&p, 1))[0], {0, 0, 0, 0, 0, 0});
    EXPECT_EQ(loss(Tensor::zeros({0, 3}), Tensor::zeros({0, 3})).shape(), Shape{0});
  }
}

TEST(Overlap, RefusesWhatDoesNotFit) {
  for (const Loss& loss : {Loss(Dice({.axis = {1, 2}})), Loss(Tversky({.axis = {-3}}))}) {
    EXPECT_ERROR(InvalidArgument, "axis", loss(Tensor::zeros({3, 2}), Tensor::zeros({3, 2})));
    EXPECT_ERROR(InvalidArgument, loss.name() + " takes targets of the predictions' shape",
                 loss(Tensor::zeros({3, 2}), Tensor::zeros({3, 1})));
  }
  constexpr std::int64_t wide = std::int64_t{1} << 32;
  EXPECT_ERROR(InvalidArgument, "the axis 4294967296", Dice({.axis = {wide}}));
  EXPECT_ERROR(InvalidArgument, "the axis 4294967296", Tversky({.axis = {wide}}));
}

}  // namespace
}  // namespace lockstep
