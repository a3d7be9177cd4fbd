// Every strategy, in the user's own loop, gives what one device gives with the global batch, with a last batch that is
// smaller than the others and one that has fewer rows than replicas.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/replicas.h>

#include <lockstep/kernels/ops/dense.h>
#include <lockstep/kernels/ops/reduction.h>
#include <lockstep/models/losses/average_loss.h>
#include <lockstep/models/optimizers/adam.h>
#include <lockstep/models/optimizers/sgd.h>
#include <lockstep/strategy/central_storage/central_storage_strategy.h>
#include <lockstep/strategy/input/distributed_dataset.h>
#include <lockstep/strategy/one_device/one_device_strategy.h>

namespace lockstep::test {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::FloatNear;

struct Line {
  float slope;
  float offset;
};

/// x = 0, 1/rows, 2/rows, ...; y = slope * x.
Dataset points(std::int64_t rows, double step, double slope) {
  std::vector<float> x;
  std::vector<float> y;
  for (std::int64_t row = 0; row < rows; ++row) {
    x.push_back(static_cast<float>(static_cast<double>(row) * step));
    y.push_back(static_cast<float>(slope) * x.back());
  }
  return Dataset::from_tensors(Tensor::from(x, {rows, 1}), Tensor::from(y, {rows, 1}));
}

/// Least squares by gradient descent over the global batches.
Line fit_line(const Strategy& strategy, const Dataset& batches, const Optimizer& optimizer, Line start) {
  const auto inside = strategy.scope();
  const Variable slope = variable_of("slope", Tensor::full({1, 1}, start.slope));
  const Variable offset = variable_of("offset", Tensor::full({1}, start.offset));
  for (const DistributedBatch& batch : strategy.distribute(batches).epoch())
    strategy.run(
        [&](const Batch& local) {
          GradientTape tape;
          const Tensor errors = dense(local.x, slope.value(), offset.value()) - local.y;
          const Tensor loss = compute_average_loss(square(errors), {.global_batch_size = batch.global_size()});
          optimizer.minimize(tape, loss, {slope, offset});
        },
        batch);
  return {slope.value().item<float>(), offset.value().item<float>()};
}

std::vector<std::pair<std::string, Strategy>> strategies() {
  std::vector<std::pair<std::string, Strategy>> all{{"one device", OneDeviceStrategy("CPU:0")}};
  for (const int replicas : {1, 2, 3, 5, 8})
    all.emplace_back("mirrored " + std::to_string(replicas), mirrored(replicas));
  for (const int replicas : {2, 3})
    all.emplace_back("central storage " + std::to_string(replicas), CentralStorageStrategy(logical_cpus(replicas)));
  return all;
}

// TF case 99: ctl_correctness. semantics 8.1, 15.3
TEST(AllStrategies, FitTheLineThatOneDeviceFits) {
  const Dataset batches = points(1001, 1e-3, 3).batch(64);  // the last one has 41 rows
  const auto optimizers = {+[]() -> Optimizer { return SGD({.learning_rate = 0.05, .momentum = 0.9}); },
                           +[]() -> Optimizer { return Adam({.learning_rate = 0.05}); }};
  for (const auto make : optimizers) {
    const Line expected = fit_line(get_strategy(), batches, make(), {0, 0});
    EXPECT_GT(expected.slope, 0.5) << "a line that stays where it was proves nothing";
    for (const auto& [name, strategy] : strategies()) {
      const Line line = fit_line(strategy, batches, make(), {0, 0});
      EXPECT_NEAR(line.slope, expected.slope, 1e-5) << name;
      EXPECT_NEAR(line.offset, expected.offset, 1e-5) << name;
    }
  }
}

// semantics 8.2, 15.2, Probe P3: y = 0, x = 0..8, weight 1, learning rate 0.001, batches of 4. TensorFlow on two
// replicas counts the lone ninth row half and gives 0.870893.
TEST(AllStrategies, CountALoneLastRowInFull) {
  const auto weight = [](const Strategy& strategy) {
    const auto inside = strategy.scope();
    const Variable w = variable_of("w", Tensor::full({1, 1}, 1));
    const SGD optimizer({.learning_rate = 0.001});
    for (const DistributedBatch& batch : strategy.distribute(points(9, 1, 0).batch(4)).epoch())
      strategy.run(
          [&](const Batch& local) {
            GradientTape tape;
            const Tensor errors = dense(local.x, w.value(), {}) - local.y;
            optimizer.minimize(tape, compute_average_loss(square(errors), {.global_batch_size = batch.global_size()}),
                               {w});
          },
          batch);
    return w.value().item<float>();
  };
  for (const auto& [name, strategy] : strategies()) EXPECT_NEAR(weight(strategy), 0.811345, 1e-6) << name;
}

// TF case 96: gradients of x*x over [5,6,7,8] in batches of 2
TEST(CustomLoops, TakeGradientsInEachReplica) {
  const MirroredStrategy strategy = mirrored(2);
  const Dataset batches = Dataset::from_tensors(Tensor::from<float>({5, 6, 7, 8}, {4})).batch(2);
  std::vector<std::vector<float>> gradients;
  for (const DistributedBatch& batch : strategy.distribute(batches).epoch()) {
    const auto own = strategy.run(
        [](const Batch& local) {
          GradientTape tape;
          tape.watch(local.x);
          return tape.gradient(square(local.x), std::vector{local.x}).front().item<float>();
        },
        batch);
    gradients.push_back(own.local_results());
  }
  EXPECT_THAT(gradients, ElementsAre(ElementsAre(10, 12), ElementsAre(14, 16)));
}

// semantics 8.3: all-reduce SUM. TF case 96: Dense(1), all ones, on ones (1, 10), gradient descent with 0.25 on two
// replicas
TEST(CustomLoops, ApplyTheSumOfTheReplicasGradients) {
  const MirroredStrategy strategy = mirrored(2);
  const auto inside = strategy.scope();
  const Variable kernel = variable_of("kernel", Tensor::full({10, 1}, 1));
  const Variable bias = variable_of("bias", Tensor::full({1}, 1));
  const SGD optimizer({.learning_rate = 0.25});
  strategy.run([&] {
    GradientTape tape;
    const Tensor loss = sum(dense(Tensor::full({1, 10}, 1), kernel.value(), bias.value()));
    optimizer.apply_gradients(tape.gradient(loss, std::vector{kernel.value(), bias.value()}), {kernel, bias});
  });
  EXPECT_THAT(kernel.value().to_vector<float>(), Each(FloatNear(0.5F, 0)));
  EXPECT_EQ(bias.value().item<float>(), 0.5F);
}

// semantics 8.3. TF case 99: apply_gradients in cross-replica context
TEST(CustomLoops, OptimizeInsideReplicas) {
  const MirroredStrategy strategy = mirrored(2);
  const auto inside = strategy.scope();
  const Variable v = variable_of("v", Tensor::full({1}, 1));
  EXPECT_THROW(SGD().apply_gradients(std::vector{Tensor::zeros({1})}, {v}), LogicError);
}

}  // namespace
}  // namespace lockstep::test
