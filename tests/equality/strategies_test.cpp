// Custom training loops, compared with results computed by hand. matrix_test compares whole models.

#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/replicas.h>
#include <support/tensors.h>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/matmul/dense.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/models/losses/average_loss.h>
#include <lockstep/models/optimizers/sgd.h>
#include <lockstep/strategy/input/distributed_dataset.h>
#include <lockstep/strategy/strategies/central_storage_strategy.h>
#include <lockstep/strategy/strategies/one_device_strategy.h>

namespace lockstep::test {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::FloatNear;

std::vector<std::pair<std::string, Strategy>> all_strategies() {
  std::vector<std::pair<std::string, Strategy>> all{{"one device", OneDeviceStrategy("CPU:0")}};
  for (const int replicas : replica_counts)
    all.emplace_back("mirrored " + std::to_string(replicas), mirrored(replicas));
  for (const int replicas : {2, 3})
    all.emplace_back("central storage " + std::to_string(replicas), CentralStorageStrategy(logical_cpus(replicas)));
  return all;
}

// semantics 8.2, 15.2, Probe P3: y = 0, x = 0..8, weight 1, squared error, SGD with 0.001, batches of 4: one device
// ends at 0.811345. TensorFlow on two replicas counts the lone ninth row half and gives 0.870893.
TEST(AllStrategies, CountALoneLastRowInFull) {
  std::vector<float> x(9);
  std::iota(x.begin(), x.end(), 0.0F);
  const Dataset points = Dataset::from_tensors(Tensor::from(x, {9, 1}));
  const auto weight = [&](const Strategy& strategy) {
    const auto inside = strategy.scope();
    const Variable w = variable_of("w", Tensor::full({1, 1}, 1));
    const SGD optimizer({.learning_rate = 0.001});
    for (const DistributedBatch& batch : strategy.distribute(points.batch(4)).epoch())
      strategy.run(
          [&](const Batch& local) {
            GradientTape tape;
            const Tensor errors = dense(local.x(), w.value(), {});
            optimizer.minimize(tape, compute_average_loss(square(errors), {.global_batch_size = batch.global_size()}),
                               {w});
          },
          batch);
    return w.value();
  };
  const double expected = (1 - 2e-3 * 14 / 4) * (1 - 2e-3 * 126 / 4) * (1 - 2e-3 * 64);
  EXPECT_NEAR(expected, 0.811345, 1e-6) << "the six digits of the probe";
  for (const auto& [name, strategy] : all_strategies()) {
    SCOPED_TRACE(name);
    expect_close(weight(strategy), {expected}, 3 * 4);
  }
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
          tape.watch(local.x());
          return tape.gradient(square(local.x()), std::vector{local.x()}).front().item<float>();
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
