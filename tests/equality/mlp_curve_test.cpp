// The MLP of the seed scripts, scaled down: the loss curve must be the same on any number of replicas.

#include <cmath>

#include <gtest/gtest.h>
#include <support/replicas.h>
#include <support/tensors.h>

#include <lockstep/models/optimizers/sgd.h>
#include <lockstep/models/zoo/mlp.h>

#include "labels.h"

namespace lockstep::test {
namespace {

constexpr int curve_steps = 20;
constexpr int curve_rows = 32;  // uneven for 3 and 5 replicas
constexpr int curve_features = 100;

struct LossCurve : Callback {
  void on_train_batch_end(Model&, const StepReport& report) override { losses.push_back(report.loss); }
  std::vector<double> losses;
};

std::vector<double> loss_curve(int replicas) {
  const MirroredStrategy strategy = mirrored(replicas);
  const auto scope = strategy.scope();
  Model model = zoo::mlp({.inputs = curve_features, .hidden = {80, 40, 20, 10}, .seed = 3});
  model.compile(SGD({.learning_rate = 0.1, .momentum = 0.9}), BinaryCrossentropy());
  const Tensor x = random_tensor({curve_steps * curve_rows, curve_features}, 1);
  const auto curve = std::make_shared<LossCurve>();
  model.fit(Dataset::from_tensors(x, larger_first_feature(x)).batch(curve_rows), {.callbacks = {curve}});
  return curve->losses;
}

TEST(MlpLossCurve, IsTheSameOnAnyNumberOfReplicas) {
  const std::vector<double> one = loss_curve(1);
  ASSERT_EQ(one.size(), static_cast<std::size_t>(curve_steps));
  EXPECT_GT(std::abs(one.back() - one.front()), 0.01 * one.front()) << "a model that learns nothing proves nothing";
  for (const int replicas : {2, 3, 5}) {
    const std::vector<double> curve = loss_curve(replicas);
    ASSERT_EQ(curve.size(), one.size());
    for (int step = 0; step < curve_steps; ++step)
      EXPECT_NEAR(curve[step], one[step], 1e-4 * one[step]) << replicas << " replicas, step " << step;
  }
}

}  // namespace
}  // namespace lockstep::test
