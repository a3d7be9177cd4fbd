// Gradients exchanged as bf16 between separate GPUs, which are pretended.

#include <cmath>

#include <gtest/gtest.h>
#include <support/small_problem.h>

#include <lockstep/runtime/device/registry.h>

namespace lockstep::test {
namespace {

struct Trained {
  std::vector<double> losses;  ///< by epoch
  std::vector<std::vector<double>> weights;
};

/// The step's sums are exchanged during backward unless `clips`: clipping needs them before any update.
Trained train(DType wire_dtype, bool clips) {
  const MirroredStrategy strategy(logical_gpus(3), {.wire_dtype = wire_dtype});
  SgdOptions options{.learning_rate = 0.2, .momentum = 0.9};
  Model model = small_model(strategy, options);
  if (clips) model.compile(SGD(options, {.global_clipnorm = 1}), SparseCategoricalCrossentropy{{.from_logits = true}});
  const History history = model.fit(SmallProblem(240).dataset().batch(60), {.epochs = 12, .verify_every = 1});
  return {history.values.at("loss"), weights_of(model)};
}

class WireDType : public testing::TestWithParam<bool> {};

TEST_P(WireDType, Bf16KeepsTheCurveOfTheLoss) {
  const Trained exact = train(DType::f32, GetParam());
  const Trained rounded = train(DType::bf16, GetParam());
  EXPECT_NE(rounded.weights, exact.weights);
  EXPECT_LT(exact.losses.back(), 0.5 * exact.losses.front()) << "it has to learn for the curves to say something";
  for (std::size_t epoch = 0; epoch < exact.losses.size(); ++epoch)
    EXPECT_NEAR(rounded.losses[epoch], exact.losses[epoch], 0.02 * exact.losses.front()) << "epoch " << epoch;
}

TEST_P(WireDType, Bf16GivesTheSameBitsAgain) {
  EXPECT_EQ(train(DType::bf16, GetParam()).weights, train(DType::bf16, GetParam()).weights);
}

INSTANTIATE_TEST_SUITE_P(All, WireDType, testing::Bool(),
                         [](const auto& info) { return info.param ? "AfterBackward" : "BesideBackward"; });

}  // namespace
}  // namespace lockstep::test
