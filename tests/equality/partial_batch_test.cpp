// A last batch that does not divide among the replicas weighs as much as on one device.

#include <numeric>

#include <gtest/gtest.h>
#include <support/replicas.h>
#include <support/tensors.h>

#include <lockstep/kernels/ops/elementwise.h>
#include <lockstep/kernels/ops/reduction.h>
#include <lockstep/models/optimizers/sgd.h>
#include <lockstep/strategy/input/distributed_dataset.h>

namespace lockstep::test {
namespace {

class PartialBatchOn : public testing::TestWithParam<int> {};

// semantics 8.2, Probe P3: y = 0, x = 0..8, w = 1, squared error, SGD 0.001, batches of 4: one device ends at 0.811345.
// TensorFlow's fit over two replicas ends at 0.870893, because the lone last row counts for a half.
TEST_P(PartialBatchOn, IsDividedByItsOwnNumberOfRows) {
  const MirroredStrategy strategy = mirrored(GetParam());
  const Variable w = strategy.scope([] { return variable_of("w", Tensor::full({1}, 1)); });
  const SGD optimizer({.learning_rate = 1e-3});
  std::vector<float> x(9);
  std::iota(x.begin(), x.end(), 0.0F);
  for (const DistributedBatch& batch :
       strategy.distribute(Dataset::from_tensors(Tensor::from(x, {9})).batch(4)).epoch())
    strategy.run(
        [&](const Batch& local) {
          GradientTape tape;
          const Tensor loss = sum(square(local.x * w.value())) / static_cast<double>(batch.global_size());
          optimizer.minimize(tape, loss, {w});
        },
        batch);
  expect_close(w.value(), {(1 - 2e-3 * 14 / 4) * (1 - 2e-3 * 126 / 4) * (1 - 2e-3 * 64)}, 3 * 4);
  EXPECT_NEAR(w.value().item<float>(), 0.811345, 1e-6);  // the six digits of the probe
}

INSTANTIATE_TEST_SUITE_P(Replicas, PartialBatchOn, testing::ValuesIn(replica_counts));

}  // namespace
}  // namespace lockstep::test
