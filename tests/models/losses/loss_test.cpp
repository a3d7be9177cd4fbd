#include <array>
#include <cmath>
#include <functional>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <models/losses/rows.h>
#include <support/expect_error.h>
#include <support/gradient_check.h>
#include <support/tensors.h>

#include <lockstep/kernels/array/activations.h>
#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/losses/cross_entropy.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/models/losses/focal.h>
#include <lockstep/models/losses/hinge.h>
#include <lockstep/models/losses/loss.h>
#include <lockstep/models/losses/overlap.h>
#include <lockstep/models/losses/regression.h>
#include <lockstep/runtime/autograd/tape.h>

namespace lockstep {
namespace {

using test::Rows;
using test::rows;

constexpr std::int64_t classes = 5;
const std::vector<std::int64_t> labels{0, 4, 2, 2, 1, 3};

/// -log(p[label] / sum(p)), or of softmax(p), by row.
std::vector<double> sparse_reference(const std::vector<double>& predictions, bool from_logits) {
  std::vector<double> losses;
  for (std::int64_t row = 0; row < rows; ++row) {
    double sum = 0;
    const double* p = predictions.data() + row * classes;
    for (std::int64_t k = 0; k < classes; ++k) sum += from_logits ? std::exp(p[k]) : p[k];
    losses.push_back(std::log(sum) - (from_logits ? p[labels[row]] : std::log(p[labels[row]])));
  }
  return losses;
}

TEST(SparseCategoricalCrossentropy, FromLogitsIsTheFormulaWithItsGradient) {
  const SparseCategoricalCrossentropy loss{{.from_logits = true}};
  const Tensor y = Tensor::from(labels, {rows});
  test::check_gradients([&](std::span<const Tensor> x) { return loss(y, x[0]); },
                        [](const Rows& x) { return sparse_reference(x[0], true); },
                        {test::random_tensor({rows, classes}, 1, -3, 3)}, {.length = classes});
}

TEST(SparseCategoricalCrossentropy, FromProbabilitiesIsTheFormulaWithItsGradient) {
  const SparseCategoricalCrossentropy loss;
  const Tensor y = Tensor::from(labels, {rows});
  // None is near 0, where 1 / p is too steep for central differences.
  const Tensor even = softmax(test::random_tensor({rows, classes}, 3, -0.5, 0.5));
  test::check_gradients([&](std::span<const Tensor> x) { return loss(y, x[0]); },
                        [](const Rows& x) { return sparse_reference(x[0], false); }, {even}, {.length = classes});
}

TEST(SparseCategoricalCrossentropy, SmallProbabilitiesKeepTheirDigits) {
  const Tensor steep = softmax(test::random_tensor({rows, classes}, 3, -6, 6));
  const Tensor losses = SparseCategoricalCrossentropy()(Tensor::from(labels, {rows}), steep);
  test::expect_close(losses, sparse_reference(steep.to_vector<double>(), false), classes);
}

TEST(SparseCategoricalCrossentropy, AProbabilityOfZeroCostsAsMuchAsKerasEpsilon) {
  const Tensor p = Tensor::from(std::vector<float>{0, 1}, {1, 2});
  const Tensor wrong = SparseCategoricalCrossentropy()(Tensor::from(std::vector<std::int64_t>{0}, {1}), p);
  test::expect_close(wrong, {-std::log(1e-7)});
  const Tensor right = SparseCategoricalCrossentropy()(Tensor::from(std::vector<std::int64_t>{1}, {1}), p);
  EXPECT_NEAR(right.item<float>(), 0, 1.5e-7);
}

/// Loss of the logits' activation, and its gradient with respect to the logits.
std::vector<float> loss_and_gradient(const Loss& loss, const Tensor& y_true, const Tensor& logits,
                                     const std::function<Tensor(const Tensor&)>& activation) {
  GradientTape tape;
  tape.watch(logits);
  const Tensor value = sum(loss(y_true, activation(logits)));
  std::vector<float> numbers{value.item<float>()};
  for (const float gradient : tape.gradient(value, std::array{logits})[0].to_vector<float>())
    numbers.push_back(gradient);
  return numbers;
}

// TensorFlow's Keras, in float32: 40 and -1, 1 at the logits (-20, 20)
TEST(Crossentropies, OfASaturatedActivationAreThoseOfItsLogits) {
  using testing::ElementsAre, testing::FloatEq, testing::FloatNear;
  const Tensor sure = Tensor::from(std::vector<float>{-20, 20}, {1, 2});
  const Tensor one_hot = Tensor::from(std::vector<float>{1, 0}, {1, 2});
  const Tensor label = Tensor::from(std::vector<std::int64_t>{0}, {1});
  const auto over_last_axis = [](const Tensor& x) { return softmax(x); };
  EXPECT_THAT(loss_and_gradient(SparseCategoricalCrossentropy(), label, sure, over_last_axis), ElementsAre(40, -1, 1));
  EXPECT_THAT(loss_and_gradient(CategoricalCrossentropy(), one_hot, sure, over_last_axis), ElementsAre(40, -1, 1));
  const Tensor certain = Tensor::from(std::vector<float>{-40, 200}, {2, 1});
  const Tensor wrong = Tensor::from(std::vector<float>{1, 0}, {2, 1});
  EXPECT_THAT(loss_and_gradient(BinaryCrossentropy(), wrong, certain, sigmoid), ElementsAre(240, -1, 1));
  // Only sigmoid is fused: for a softmax result, the binary loss is that of the probabilities.
  EXPECT_NEAR(BinaryCrossentropy()(one_hot, softmax(sure)).item<float>(), -std::log(1e-7), 0.1);
}

TEST(Crossentropies, OfASaturatedActivationInBf16AreThoseOfItsLogitsToo) {
  const auto narrow = [](const Tensor& x) { return cast(x, DType::bf16); };
  const Tensor label = Tensor::from(std::vector<std::int64_t>{0}, {1});
  EXPECT_THAT(
      loss_and_gradient(SparseCategoricalCrossentropy(), label, Tensor::from(std::vector<float>{-20, 20}, {1, 2}),
                        [&](const Tensor& x) { return narrow(softmax(x)); }),
      testing::ElementsAre(40, -1, 1));
  const Tensor wrong = Tensor::from(std::vector<float>{1, 0}, {2, 1});
  EXPECT_THAT(loss_and_gradient(BinaryCrossentropy(), wrong, Tensor::from(std::vector<float>{-40, 200}, {2, 1}),
                                [&](const Tensor& x) { return sigmoid(narrow(x)); }),
              testing::ElementsAre(240, -1, 1));
}

TEST(Crossentropies, HaveAGradientInProbabilitiesThatATapeWatches) {
  const Tensor p = softmax(Tensor::from(std::vector<float>{0, 0}, {1, 2}));
  GradientTape tape;
  tape.watch(p);
  const Tensor loss = SparseCategoricalCrossentropy()(Tensor::from(std::vector<std::int64_t>{0}, {1}), p);
  EXPECT_THAT(tape.gradient(sum(loss), std::array{p})[0].to_vector<float>(), testing::ElementsAre(-1, 1));
}

// As Keras, which casts labels to integers.
TEST(SparseCategoricalCrossentropy, TakesWholeNumbersOfAnyTypeFlatOrAsAColumn) {
  const SparseCategoricalCrossentropy loss{{.from_logits = true}};
  const Tensor logits = test::random_tensor({rows, classes}, 1);
  const Tensor expected = loss(Tensor::from(labels, {rows}), logits);
  EXPECT_EQ(expected.shape(), Shape{rows});
  for (const Shape& shape : {Shape{rows}, Shape{rows, 1}}) {
    const std::vector<std::uint8_t> bytes(labels.begin(), labels.end());
    const std::vector<std::int32_t> ints(labels.begin(), labels.end());
    test::expect_same_bits(loss(Tensor::from(bytes, shape), logits), expected);
    test::expect_same_bits(loss(Tensor::from(ints, shape), logits), expected);
    const std::vector<float> floats(labels.begin(), labels.end());
    test::expect_same_bits(loss(Tensor::from(labels, shape), logits), expected);
    test::expect_same_bits(loss(Tensor::from(floats, shape), logits), expected);
    test::expect_same_bits(loss(cast(Tensor::from(floats, shape), DType::bf16), logits), expected);
  }
}

TEST(SparseCategoricalCrossentropy, RefusesALabelThatIsNoClass) {
  const Tensor y = Tensor::from(std::vector<std::int64_t>{0, 5}, {2});
  const SparseCategoricalCrossentropy loss{{.from_logits = true}};
  EXPECT_THROW(loss(y, Tensor::zeros({2, 5})), InvalidArgument);
  EXPECT_THROW(loss(Tensor::from(std::vector<float>{0, 0.5}, {2}), Tensor::zeros({2, 5})), InvalidArgument);
}

/// Mean over k of the binary cross-entropy of t and p, or of t and sigmoid(p), by row.
std::vector<double> binary_reference(const std::vector<double>& predictions, const std::vector<double>& targets,
                                     std::int64_t k, bool from_logits) {
  std::vector<double> losses(predictions.size() / static_cast<std::size_t>(k));
  for (std::size_t i = 0; i < predictions.size(); ++i) {
    const double p = from_logits ? 1 / (1 + std::exp(-predictions[i])) : predictions[i];
    losses[i / static_cast<std::size_t>(k)] -=
        (targets[i] * std::log(p) + (1 - targets[i]) * std::log(1 - p)) / static_cast<double>(k);
  }
  return losses;
}

class BinaryCrossentropyFrom : public testing::TestWithParam<bool> {
 protected:
  const bool from_logits_ = GetParam();
  const BinaryCrossentropy loss_{{.from_logits = from_logits_}};
  Tensor predictions(const Shape& shape) const {
    return from_logits_ ? test::random_tensor(shape, 1, -3, 3) : test::random_tensor(shape, 1, 0.05, 0.95);
  }
};

TEST_P(BinaryCrossentropyFrom, IsTheFormulaWithItsGradient) {
  for (const std::int64_t k : {1, 4}) {
    const Tensor y = test::random_tensor({rows, k}, 2, 0, 1);
    test::check_gradients([&](std::span<const Tensor> x) { return loss_(y, x[0]); },
                          [&](const Rows& x) { return binary_reference(x[0], y.to_vector<double>(), k, from_logits_); },
                          {predictions({rows, k})}, {.length = k});
  }
}

TEST_P(BinaryCrossentropyFrom, TakesFlatTargetsOfAnyTypeForOneOutput) {
  const Tensor x = predictions({4, 1});
  const Tensor expected = loss_(Tensor::from(std::vector<float>{0, 1, 1, 0}, {4, 1}), x);
  EXPECT_EQ(expected.shape(), Shape{4});
  test::expect_same_bits(loss_(Tensor::from(std::vector<float>{0, 1, 1, 0}, {4}), x), expected);
  test::expect_same_bits(loss_(Tensor::from(std::vector<std::uint8_t>{0, 1, 1, 0}, {4}), x), expected);
  test::expect_same_bits(loss_(Tensor::from(std::vector<std::int32_t>{0, 1, 1, 0}, {4, 1}), x), expected);
  test::expect_same_bits(loss_(Tensor::from(std::vector<std::int64_t>{0, 1, 1, 0}, {4}), x), expected);
}

TEST_P(BinaryCrossentropyFrom, RefusesTargetsOfAnotherShape) {
  EXPECT_THROW(loss_(Tensor::zeros({3, 2}), predictions({3, 1})), InvalidArgument);
  EXPECT_THROW(loss_(Tensor::zeros({3}), predictions({3, 2})), InvalidArgument);
  EXPECT_THROW(loss_(Tensor::zeros({3}), predictions({3})), InvalidArgument);
}

INSTANTIATE_TEST_SUITE_P(LogitsOrProbabilities, BinaryCrossentropyFrom, testing::Bool());

TEST(SparseCategoricalCrossentropy, OfSequencesIsTheMeanOverTheirSteps) {
  const SparseCategoricalCrossentropy loss{{.from_logits = true}};
  const Tensor logits = test::random_tensor({2, 3, classes}, 1);
  const std::vector<double> by_step =
      loss(Tensor::from(labels, {rows}), logits.view({rows, classes})).to_vector<double>();
  for (const Shape& shape : {Shape{2, 3}, Shape{2, 3, 1}})
    test::expect_close(loss(Tensor::from(labels, shape), logits),
                       {(by_step[0] + by_step[1] + by_step[2]) / 3, (by_step[3] + by_step[4] + by_step[5]) / 3}, 3);
  EXPECT_THROW(loss(Tensor::from(labels, {3, 2, 1}).view({6}).slice_view(0, 0, 5), logits), InvalidArgument);
}

/// -sum of t log(p / sum(p)), or of t log(softmax(p)), by row, with t smoothed.
std::vector<double> categorical_reference(const std::vector<double>& predictions, const std::vector<double>& targets,
                                          bool from_logits, double smoothing) {
  std::vector<double> losses;
  for (std::size_t row = 0; row < rows; ++row) {
    const double* p = predictions.data() + row * classes;
    double all = 0;
    for (std::int64_t k = 0; k < classes; ++k) all += from_logits ? std::exp(p[k]) : p[k];
    losses.push_back(0);
    for (std::int64_t k = 0; k < classes; ++k) {
      const double t = targets[row * classes + static_cast<std::size_t>(k)] * (1 - smoothing) + smoothing / classes;
      losses.back() -= t * ((from_logits ? p[k] : std::log(p[k])) - std::log(all));
    }
  }
  return losses;
}

/// The rows of sparse_reference, without those of the labels 2, times 6 rows / 4 counted ones.
std::vector<double> reference_without_2(const std::vector<double>& predictions, bool from_logits) {
  std::vector<double> losses = sparse_reference(predictions, from_logits);
  for (std::size_t row = 0; row < labels.size(); ++row) losses[row] *= labels[row] == 2 ? 0 : 6.0 / 4;
  return losses;
}

TEST(IgnoreClass, LeavesItsRowsOutOfTheMeanAndTheGradient) {
  for (const bool from_logits : {false, true}) {
    const SparseCategoricalCrossentropy loss{{.from_logits = from_logits, .ignore_class = 2}};
    const Tensor y = Tensor::from(labels, {rows});
    const Tensor x = test::random_tensor({rows, classes}, 1, -0.5, 0.5);
    test::check_gradients([&](std::span<const Tensor> p) { return loss(y, p[0]); },
                          [&](const Rows& p) { return reference_without_2(p[0], from_logits); },
                          {from_logits ? x : softmax(x)}, {.length = classes});
  }
}

TEST(IgnoreClass, MayBeOutsideTheClasses) {
  const Tensor logits = test::random_tensor({rows, classes}, 1);
  const std::vector<double> each = reference_without_2(logits.to_vector<double>(), true);
  const auto check = [&](int ignored, const Tensor& y) {
    const SparseCategoricalCrossentropy loss{{.from_logits = true, .ignore_class = ignored}};
    test::expect_close(loss(y, logits), each, classes);
    test::expect_close(loss(y.view({2, 3, 1}), logits.view({2, 3, classes})),
                       {(each[0] + each[1] + each[2]) / 3, (each[3] + each[4] + each[5]) / 3}, classes);
  };
  check(-1, Tensor::from(std::vector<std::int32_t>{0, 4, -1, -1, 1, 3}, {rows, 1}));
  check(255, Tensor::from(std::vector<std::uint8_t>{0, 4, 255, 255, 1, 3}, {rows}));
  check(-1, Tensor::from(std::vector<float>{0, 4, -1, -1, 1, 3}, {rows}));
  // bf16 rounds 1001 to 1000.
  const Tensor y = cast(Tensor::from<float>({1000, 3}, {2}), DType::bf16);
  const Tensor wide = test::random_tensor({2, 1001}, 1);
  test::expect_close(SparseCategoricalCrossentropy({.from_logits = true, .ignore_class = 1001})(y, wide),
                     SparseCategoricalCrossentropy({.from_logits = true})(y, wide).to_vector<double>());
}

TEST(IgnoreClass, OfAllRowsIsZeroAndKeepsOtherLabelsToTheClasses) {
  const SparseCategoricalCrossentropy loss{{.from_logits = true, .ignore_class = -1}};
  const Tensor logits = test::random_tensor({2, classes}, 1);
  test::expect_close(loss(Tensor::full({2}, -1, DType::i64), logits), {0, 0});
  EXPECT_EQ(loss(Tensor::zeros({0}, DType::i64), Tensor::zeros({0, classes})).shape(), Shape{0});
  // u8 does not hold -1.
  test::expect_close(
      loss(Tensor::zeros({2}, DType::u8), logits),
      SparseCategoricalCrossentropy({.from_logits = true})(Tensor::zeros({2}, DType::u8), logits).to_vector<double>());
  EXPECT_THROW(loss(Tensor::full({2}, -2, DType::i64), logits), InvalidArgument);
  EXPECT_THROW(loss(Tensor::zeros({2}, DType::boolean), logits), InvalidArgument);
}

class CategoricalCrossentropyFrom : public testing::TestWithParam<bool> {
 protected:
  const bool from_logits_ = GetParam();
  const Tensor predictions_ =
      from_logits_ ? test::random_tensor({rows, classes}, 1, -3, 3) : test::random_tensor({rows, classes}, 1, 0.2, 0.9);
};

TEST_P(CategoricalCrossentropyFrom, IsTheFormulaWithItsGradient) {
  const Tensor y = softmax(test::random_tensor({rows, classes}, 2, -3, 3));
  for (const double smoothing : {0.0, 0.1, 1.0}) {
    const CategoricalCrossentropy loss{{.from_logits = from_logits_, .label_smoothing = smoothing}};
    test::check_gradients(
        [&](std::span<const Tensor> x) { return loss(y, x[0]); },
        [&](const Rows& x) { return categorical_reference(x[0], y.to_vector<double>(), from_logits_, smoothing); },
        {predictions_}, {.length = classes, .magnitude = 10});
  }
}

TEST_P(CategoricalCrossentropyFrom, OfOneHotTargetsIsTheSparseOne) {
  std::vector<std::uint8_t> one_hot(rows * classes);
  for (std::size_t row = 0; row < rows; ++row) one_hot[row * classes + static_cast<std::size_t>(labels[row])] = 1;
  const Tensor sparse =
      SparseCategoricalCrossentropy({.from_logits = from_logits_})(Tensor::from(labels, {rows}), predictions_);
  const CategoricalCrossentropy loss{{.from_logits = from_logits_}};
  test::expect_close(loss(Tensor::from(one_hot, {rows, classes}), predictions_), sparse.to_vector<double>(), classes);
  const Tensor of_two = loss(Tensor::from(one_hot, {2, 3, classes}), predictions_.view({2, 3, classes}));
  const std::vector<double> by_step = sparse.to_vector<double>();
  test::expect_close(of_two, {(by_step[0] + by_step[1] + by_step[2]) / 3, (by_step[3] + by_step[4] + by_step[5]) / 3},
                     3 * classes);
}

INSTANTIATE_TEST_SUITE_P(LogitsOrProbabilities, CategoricalCrossentropyFrom, testing::Bool());

TEST(CategoricalCrossentropy, OfLargeLogitsDoesNotOverflow) {
  const Tensor y = Tensor::from(std::vector<float>{0, 1, 0}, {1, 3});
  const Tensor x = Tensor::from(std::vector<float>{1000, 990, -1000}, {1, 3});
  test::expect_close(CategoricalCrossentropy({.from_logits = true})(y, x), {std::log1p(std::exp(-10.0)) + 10});
}

TEST(CategoricalCrossentropy, RefusesWhatDoesNotFit) {
  EXPECT_THROW(CategoricalCrossentropy()(Tensor::zeros({3}), Tensor::zeros({3, 2})), InvalidArgument);
  EXPECT_THROW(CategoricalCrossentropy()(Tensor::zeros({3}), Tensor::zeros({3})), InvalidArgument);
  EXPECT_THROW(CategoricalCrossentropy({.label_smoothing = 1.5}), InvalidArgument);
  EXPECT_THROW(BinaryCrossentropy({.label_smoothing = -0.1}), InvalidArgument);
}

TEST_P(BinaryCrossentropyFrom, SmoothsLabelsTowardsOneHalf) {
  const Tensor y = test::random_tensor({rows, 4}, 2, 0, 1);
  std::vector<double> targets = y.to_vector<double>();
  for (double& t : targets) t = t * 0.8 + 0.1;
  const BinaryCrossentropy loss{{.from_logits = from_logits_, .label_smoothing = 0.2}};
  test::check_gradients([&](std::span<const Tensor> x) { return loss(y, x[0]); },
                        [&](const Rows& x) { return binary_reference(x[0], targets, 4, from_logits_); },
                        {predictions({rows, 4})}, {.length = 4});
}

// Keras squeezes or expands a last axis of 1, and no other.
TEST(Losses, NameBothShapesOfTargetsThatDoNotFit) {
  const auto refuses = [](const Loss& loss, const Shape& y_true, const Shape& y_pred) {
    EXPECT_ERROR(InvalidArgument, fmt::format("got f32 {} on CPU:0 for f32 {}", y_true, y_pred),
                 loss(Tensor::zeros(y_true), Tensor::zeros(y_pred)));
  };
  for (const Loss& loss : {Loss(MeanSquaredError()), Loss(BinaryCrossentropy()), Loss(CategoricalCrossentropy()),
                           Loss(Hinge()), Loss(BinaryFocalCrossentropy()), Loss(Dice())}) {
    refuses(loss, {2, 3, 4, 4}, {2, 4, 4, 3});
    refuses(loss, {2, 12}, {2, 4, 3});
    refuses(loss, {2, 4, 1, 3}, {2, 4, 3});
    refuses(loss, {2}, {2, 1, 1});
    EXPECT_EQ(loss(Tensor::zeros({2, 3}), Tensor::zeros({2, 3, 1})).shape(), Shape{2});
    EXPECT_EQ(loss(Tensor::zeros({2, 3, 1}), Tensor::zeros({2, 3})).shape(), Shape{2});
  }
  refuses(SparseCategoricalCrossentropy(), {2, 12}, {2, 4, 3, 5});
  refuses(SparseCategoricalCrossentropy(), {2, 3, 4}, {2, 4, 3, 5});
  refuses(SparseCategoricalCrossentropy({.ignore_class = 0}), {3, 2}, {2, 3, 5});
}

TEST(Losses, OfNoRowsAreNone) {
  EXPECT_EQ(SparseCategoricalCrossentropy({.from_logits = true})(Tensor::zeros({0}, DType::i64), Tensor::zeros({0, 3}))
                .shape(),
            Shape{0});
  EXPECT_EQ(SparseCategoricalCrossentropy()(Tensor::zeros({0}, DType::i64), Tensor::zeros({0, 3})).shape(), Shape{0});
  EXPECT_EQ(BinaryCrossentropy()(Tensor::zeros({0}), Tensor::zeros({0, 1})).shape(), Shape{0});
  for (const bool from_logits : {false, true})
    EXPECT_EQ(
        CategoricalCrossentropy({.from_logits = from_logits})(Tensor::zeros({0, 3}), Tensor::zeros({0, 3})).shape(),
        Shape{0});
}

TEST(Losses, HaveKerasNames) {
  EXPECT_EQ(SparseCategoricalCrossentropy().name(), "sparse_categorical_crossentropy");
  EXPECT_EQ(CategoricalCrossentropy().name(), "categorical_crossentropy");
  EXPECT_EQ(BinaryCrossentropy().name(), "binary_crossentropy");
}

}  // namespace
}  // namespace lockstep
