// Compares the loss of the zoo's image models in mixed_bfloat16 with that in f32, over 100 steps on small images.

#include <numeric>
#include <vector>

#include <gtest/gtest.h>
#include <support/devices.h>
#include <support/tensors.h>

#include <lockstep/models/layers/dtype_policy.h>
#include <lockstep/models/losses/by_example.h>
#include <lockstep/models/optimizers/sgd.h>
#include <lockstep/models/training/callbacks/lambda_callback.h>
#include <lockstep/models/zoo/mini_googlenet.h>
#if LOCKSTEP_LONG_TESTS
#include <lockstep/models/zoo/resnet.h>
#endif
#include <lockstep/strategy/strategies/mirrored_strategy.h>

namespace lockstep::test {
namespace {

constexpr int classes = 4;
constexpr int steps = 100;
constexpr std::int64_t side = 32;
constexpr std::int64_t batch = 16;

/// Noise, labeled with the brightest quarter.
Dataset images() {
  constexpr std::int64_t rows = 10 * batch;
  const Tensor x = random_tensor({rows, side, side, 3}, 1);
  std::vector<std::int64_t> labels;
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t label = (row * 7 + row / 3) % classes;
    for (std::int64_t h = 0; h < side / 2; ++h)
      for (std::int64_t w = 0; w < side / 2; ++w)
        for (std::int64_t c = 0; c < 3; ++c)
          x.data<float>()[((row * side + h + side / 2 * (label / 2)) * side + w + side / 2 * (label % 2)) * 3 + c] += 1;
    labels.push_back(label);
  }
  return Dataset::from_tensors(x, Tensor::from(labels, {rows})).batch(batch).repeat();
}

/// The loss of each step.
template <class MakeModel>
std::vector<double> losses_of(DTypePolicy policy, const MakeModel& make_model) {
  const MirroredStrategy strategy(devices(2));
  std::vector<double> losses;
  Model model = strategy.scope([&] {
    const DTypePolicyScope scope(policy);
    return make_model();
  });
  model.compile(SGD({.learning_rate = 0.003}), SparseCategoricalCrossentropy({.from_logits = true}));
  const auto note = [&](Model&, const StepReport& report) { losses.push_back(report.loss); };
  model.fit(images(),
            {.steps_per_epoch = steps,
             .callbacks = {std::make_shared<LambdaCallback>(LambdaCallbackOptions{.on_train_batch_end = note})}});
  return losses;
}

/// Checks that the means of the two curves differ by at most `tolerance` times their first values.
template <class MakeModel>
void expect_one_curve(const MakeModel& make_model, double tolerance) {
  const std::vector<double> exact = losses_of(DTypePolicy::float32, make_model);
  const std::vector<double> rounded = losses_of(DTypePolicy::mixed_bfloat16, make_model);
  EXPECT_NE(rounded, exact) << "what is no different proves nothing";
  // Single steps differ: rounding leads to other weights, for which another batch has a higher or lower loss.
  constexpr int window = 20;
  const auto mean = [](const std::vector<double>& losses, int first) {
    return std::accumulate(losses.begin() + first, losses.begin() + first + window, 0.0) / window;
  };
  for (int first = 0; first < steps; first += window) {
    EXPECT_NEAR(mean(rounded, first), mean(exact, first), tolerance * mean(exact, 0)) << "steps from " << first;
  }
  EXPECT_LT(mean(exact, steps - window), 0.7 * mean(exact, 0)) << "it has to learn for the curves to say something";
}

TEST(Bfloat16Curves, OfMiniGoogLeNet) {
  expect_one_curve([] { return zoo::mini_googlenet({side, side, 3}, classes, {.dropout = 0}); }, 0.02);
}

#if LOCKSTEP_LONG_TESTS
// Its first steps are chaotic: normalization over 8 images of one pixel each separates nearly equal values, so that
// changing f32 inputs by 1e-3 changes the first loss by 7 %.
TEST(Bfloat16Curves, OfResNet50) {
  expect_one_curve(
      [] {
        return zoo::resnet50(
            {.input_shape = {side, side, 3}, .classes = classes, .classifier_activation = Activation::linear});
      },
      0.4);
}
#endif

}  // namespace
}  // namespace lockstep::test
