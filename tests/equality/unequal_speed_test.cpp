// Replicas of unequal speed: an MLP on logical CPUs with one and two threads trains the same however its batches are
// split.

#include <atomic>
#include <chrono>
#include <cmath>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/replicas.h>
#include <support/tensors.h>

#include <lockstep/models/optimizers/sgd.h>
#include <lockstep/models/zoo/mlp.h>

#include "labels.h"

namespace lockstep::test {
namespace {

constexpr int speed_steps = 20;
constexpr int speed_rows = 31;
constexpr int speed_features = 60;

struct StepRecorder : Callback {
  void on_train_batch_end(Model&, const StepReport& report) override { steps.push_back(report); }
  std::vector<StepReport> steps;
};

std::vector<StepReport> train(const std::vector<int>& cores, const DistributeOptions& distribute,
                              const Loss& loss = BinaryCrossentropy()) {
  const MirroredStrategy strategy(logical_cpus_with_cores(cores), {});
  const auto scope = strategy.scope();
  Model model = zoo::mlp({.inputs = speed_features, .hidden = {40, 20, 10, 5}, .seed = 3});
  model.compile(SGD({.learning_rate = 0.1, .momentum = 0.9}), loss);
  const Tensor x = random_tensor({speed_steps * speed_rows, speed_features}, 1);
  const auto recorder = std::make_shared<StepRecorder>();
  model.fit(Dataset::from_tensors(x, larger_first_feature(x)).batch(speed_rows),
            {.callbacks = {recorder}, .distribute = distribute});
  return recorder->steps;
}

// On any replica, a step's loss is a sum over rows divided by their global number: only the grouping of the
// additions differs.
void expect_same_curve(const std::vector<StepReport>& actual, const std::vector<StepReport>& expected) {
  ASSERT_EQ(actual.size(), static_cast<std::size_t>(speed_steps));
  for (std::size_t step = 0; step < actual.size(); ++step) {
    EXPECT_NEAR(actual[step].loss, expected[step].loss, 1e-5 * expected[step].loss) << "step " << step;
    EXPECT_EQ(actual[step].rows[0] + actual[step].rows[1], speed_rows);
  }
}

TEST(UnequalSpeed, GivenSharesTrainAsTheEvenSplit) {
  const std::vector<StepReport> even = train({1, 2}, {});
  EXPECT_GT(std::abs(even.back().loss - even.front().loss), 0.01 * even.front().loss)
      << "a model that learns nothing proves nothing";
  EXPECT_THAT(even.front().rows, testing::ElementsAre(16, 15));
  struct Case {
    std::vector<double> shares;
    std::vector<std::int64_t> speed_rows;
  };
  for (const auto& [shares, split] : std::vector<Case>{{{1, 2}, {10, 21}}, {{9, 1}, {28, 3}}, {{100, 1}, {31, 0}}}) {
    const std::vector<StepReport> weighted = train({1, 2}, {.shares = shares});
    EXPECT_EQ(weighted.front().rows, split);
    expect_same_curve(weighted, even);
  }
}

TEST(UnequalSpeed, MeasuredSharesTrainAsTheEvenSplit) {
  const BinaryCrossentropy loss;
  constexpr int measured_steps = 4;  // the first one, which is not counted, and three that are
  std::atomic<int> steps_of_0 = 0;
  // Slows replica 0 down by far more than other load on the machine could slow the other replica.
  const Loss slow_on_0("slow_on_0", [&](const Tensor& y_true, const Tensor& y_pred) {
    if (this_replica() == 0 && steps_of_0++ < measured_steps)
      std::this_thread::sleep_for(std::chrono::milliseconds(300));
    return loss(y_true, y_pred);
  });
  const std::vector<StepReport> measured = train({1, 1}, {.measure_steps = measured_steps - 1}, slow_on_0);
  for (std::size_t step = 0; step < measured.size(); ++step) {
    if (step < measured_steps)
      EXPECT_EQ(measured[step].rows[0], 16) << "step " << step;
    else
      EXPECT_LT(measured[step].rows[0], measured[step].rows[1]) << "step " << step;
  }
  expect_same_curve(measured, train({1, 1}, {}));
}

}  // namespace
}  // namespace lockstep::test
