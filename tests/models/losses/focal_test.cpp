#include <array>
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <models/losses/rows.h>
#include <support/expect_error.h>
#include <support/gradient_check.h>
#include <support/tensors.h>

#include <lockstep/kernels/array/activations.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/models/losses/focal.h>
#include <lockstep/runtime/autograd/tape.h>

namespace lockstep {
namespace {

using test::Rows;
using test::rows;
using test::width;

class FocalFrom : public testing::TestWithParam<bool> {
 protected:
  const bool from_logits_ = GetParam();
  // Not near 0 or 1, where the gradient is too steep for central differences.
  const Tensor predictions_ =
      from_logits_ ? test::random_tensor({rows, width}, 1, -2, 2) : test::random_tensor({rows, width}, 1, 0.1, 0.9);
};

std::vector<double> binary_reference(const BinaryFocalCrossentropyOptions& options, const std::vector<double>& targets,
                                     const std::vector<double>& predictions) {
  std::vector<double> losses(rows);
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const double p = options.from_logits ? 1 / (1 + std::exp(-predictions[i])) : predictions[i];
    const double y = targets[i] * (1 - options.label_smoothing) + options.label_smoothing / 2;
    const double likely = y * p + (1 - y) * (1 - p);
    const double balance = options.apply_class_balancing ? y * options.alpha + (1 - y) * (1 - options.alpha) : 1;
    losses[i / width] -= balance * std::pow(1 - likely, options.gamma) * (y * std::log(p) + (1 - y) * std::log(1 - p)) /
                         static_cast<double>(width);
  }
  return losses;
}

TEST_P(FocalFrom, BinaryIsTheFormulaWithItsGradient) {
  const Tensor y = test::random_tensor({rows, width}, 2, 0, 1);
  for (const bool balanced : {false, true})
    for (const double gamma : {2.0, 0.5}) {
      const BinaryFocalCrossentropyOptions options{.apply_class_balancing = balanced,
                                                   .alpha = 0.3,
                                                   .gamma = gamma,
                                                   .from_logits = from_logits_,
                                                   .label_smoothing = balanced ? 0.2 : 0};
      const BinaryFocalCrossentropy loss(options);
      test::check_gradients([&](std::span<const Tensor> x) { return loss(y, x[0]); },
                            [&](const Rows& x) { return binary_reference(options, y.to_vector<double>(), x[0]); },
                            {predictions_}, {.length = width, .magnitude = 10});
    }
}

std::vector<double> categorical_reference(const CategoricalFocalCrossentropyOptions& options,
                                          const std::vector<double>& targets, const std::vector<double>& predictions) {
  std::vector<double> losses(rows);
  for (std::size_t row = 0; row < rows; ++row) {
    const double* p = predictions.data() + row * width;
    double all = 0;
    for (std::size_t k = 0; k < width; ++k) all += options.from_logits ? std::exp(p[k]) : p[k];
    for (std::size_t k = 0; k < width; ++k) {
      const double share = (options.from_logits ? std::exp(p[k]) : p[k]) / all;
      const double y = targets[row * width + k] * (1 - options.label_smoothing) + options.label_smoothing / width;
      const double alpha = options.alpha[options.alpha.size() == 1 ? 0 : k];
      losses[row] -= alpha * std::pow(1 - share, options.gamma) * y * std::log(share);
    }
  }
  return losses;
}

TEST_P(FocalFrom, CategoricalIsTheFormulaWithItsGradient) {
  const Tensor y = test::random_tensor({rows, width}, 2, 0, 1);
  for (const std::vector<double>& alpha : {std::vector<double>{0.25}, {0.5, 0.25, 2, 1}}) {
    const CategoricalFocalCrossentropyOptions options{.alpha = alpha,
                                                      .gamma = alpha.size() == 1 ? 2 : 0.5,
                                                      .from_logits = from_logits_,
                                                      .label_smoothing = alpha.size() == 1 ? 0 : 0.2};
    const CategoricalFocalCrossentropy loss(options);
    test::check_gradients([&](std::span<const Tensor> x) { return loss(y, x[0]); },
                          [&](const Rows& x) { return categorical_reference(options, y.to_vector<double>(), x[0]); },
                          {predictions_}, {.length = width, .magnitude = 10});
  }
}

INSTANTIATE_TEST_SUITE_P(LogitsOrProbabilities, FocalFrom, testing::Bool());

// Values from Keras' documentation.
TEST(Focal, AreKerasExamples) {
  const Tensor y = Tensor::from(std::vector<float>{0, 1, 0, 0}, {1, 4});
  const Tensor logits = Tensor::from(std::vector<float>{-18.6F, 0.51F, 2.94F, -12.8F}, {1, 4});
  EXPECT_NEAR(BinaryFocalCrossentropy({.from_logits = true})(y, logits).item<float>(), 0.691, 5e-4);
  const BinaryFocalCrossentropy balanced({.apply_class_balancing = true, .from_logits = true});
  EXPECT_NEAR(balanced(y, logits).item<float>(), 0.51, 5e-3);
  const Tensor classes = Tensor::from(std::vector<float>{0, 1, 0, 0, 0, 1}, {2, 3});
  const Tensor p = Tensor::from(std::vector<float>{0.05F, 0.95F, 0, 0.1F, 0.8F, 0.1F}, {2, 3});
  const std::vector<double> losses = CategoricalFocalCrossentropy()(classes, p).to_vector<double>();
  EXPECT_NEAR(losses[0], 3.2058331e-05, 1e-9);
  EXPECT_NEAR(losses[1], 4.6627346e-01, 1e-6);
}

TEST(BinaryFocal, OfASaturatedSigmoidIsThatOfItsLogits) {
  const Tensor y = Tensor::from(std::vector<float>{1}, {1, 1});
  for (const DType dtype : {DType::f32, DType::bf16}) {
    const Tensor logits = Tensor::from(std::vector<float>{-40}, {1, 1});
    GradientTape tape;
    tape.watch(logits);
    const Tensor loss = sum(BinaryFocalCrossentropy()(y, sigmoid(cast(logits, dtype))));
    EXPECT_EQ(loss.item<float>(), 40);
    EXPECT_THAT(tape.gradient(loss, std::array{logits})[0].to_vector<float>(), testing::ElementsAre(-1));
  }
}

TEST(Focal, RefuseWhatDoesNotFit) {
  EXPECT_ERROR(InvalidArgument, "label_smoothing lies in [0, 1], got 2",
               BinaryFocalCrossentropy({.label_smoothing = 2}));
  EXPECT_ERROR(InvalidArgument, "needs an alpha", CategoricalFocalCrossentropy({.alpha = {}}));
  EXPECT_ERROR(InvalidArgument, "CategoricalFocalCrossentropy: alpha must be finite, got nan",
               CategoricalFocalCrossentropy({.alpha = {0.25, std::nan("")}}));
  EXPECT_ERROR(InvalidArgument, "takes predictions (n, ..., 2), got f32 (1, 3)",
               CategoricalFocalCrossentropy({.alpha = {1, 2}})(Tensor::zeros({1, 3}), Tensor::zeros({1, 3})));
  EXPECT_ERROR(InvalidArgument, "takes predictions (n, ..., classes), got f32 (3)",
               CategoricalFocalCrossentropy()(Tensor::zeros({3}), Tensor::zeros({3})));
  EXPECT_ERROR(InvalidArgument, "binary_focal_crossentropy takes predictions (n, ..., k), got f32 (3)",
               BinaryFocalCrossentropy()(Tensor::zeros({3}), Tensor::zeros({3})));
  for (const Loss& loss : {Loss(BinaryFocalCrossentropy()), Loss(CategoricalFocalCrossentropy())}) {
    EXPECT_ERROR(InvalidArgument, loss.name() + " takes targets of the predictions' shape",
                 loss(Tensor::zeros({3, 2}), Tensor::zeros({3, 1})));
    EXPECT_EQ(loss(Tensor::zeros({0, 3}), Tensor::zeros({0, 3})).shape(), Shape{0});
  }
}

}  // namespace
}  // namespace lockstep
