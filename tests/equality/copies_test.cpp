// After every step all copies of a mirrored variable are equal to the bit, however the batch falls on the replicas.

#include <cmath>

#include <gtest/gtest.h>
#include <support/replicas.h>
#include <support/tensors.h>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/losses/cross_entropy.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/models/layers/activation.h>
#include <lockstep/models/layers/batch_normalization.h>
#include <lockstep/models/layers/conv.h>
#include <lockstep/models/layers/dense.h>
#include <lockstep/models/layers/dropout.h>
#include <lockstep/models/layers/flatten.h>
#include <lockstep/models/optimizers/adam.h>
#include <lockstep/models/training/model.h>
#include <lockstep/runtime/autograd/tape.h>
#include <lockstep/strategy/input/distributed_dataset.h>
#include <lockstep/strategy/strategies/verify.h>

#include "labels.h"

namespace lockstep::test {
namespace {

Model small_model() {
  const Symbol x = Input({8, 8, 2});
  Symbol y = Conv2D({.filters = 6, .kernel_size = {3, 3}})(x);
  y = ActivationLayer(Activation::relu)(BatchNormalization()(y));
  y = Dropout({.rate = 0.5})(Flatten()(y));
  return {x, Dense({.units = 4})(y)};
}

class CopiesOn : public testing::TestWithParam<int> {};

TEST_P(CopiesOn, AreEqualAfterEveryStep) {
  const MirroredStrategy strategy = mirrored(GetParam());
  const auto scope = strategy.scope();
  const Model model = small_model();
  const Adam optimizer;
  // Batches of 9, 9 and 3: uneven, and fewer rows than replicas.
  const Dataset batches = Dataset::from_tensors(random_tensor({21, 8, 8, 2}, 1), cyclic_labels(21, 4)).batch(9);
  std::vector<float> before = model.variables()[0].value().to_vector<float>();
  int steps = 0;
  for (const DistributedBatch& batch : strategy.distribute(batches).epoch()) {
    const auto losses = strategy.run(
        [&](const Batch& local) {
          GradientTape tape;
          const Tensor loss = sum(sparse_softmax_cross_entropy(model(local.x(), Mode::train), local.y())) /
                              static_cast<double>(batch.global_size());
          optimizer.minimize(tape, loss, model.trainable_variables());
          return loss;
        },
        batch);
    verify_mirrored(model.variables());
    EXPECT_TRUE(std::isfinite(strategy.reduce(ReduceOp::sum, losses).item<float>()));
    const std::vector<float> after = model.variables()[0].value().to_vector<float>();
    EXPECT_NE(after, before) << "nothing was trained";
    before = after;
    ++steps;
  }
  EXPECT_EQ(steps, 3);
  for (const Variable& variable : model.variables())
    for (const float value : variable.value().to_vector<float>()) ASSERT_TRUE(std::isfinite(value)) << variable.name();
}

INSTANTIATE_TEST_SUITE_P(Replicas, CopiesOn, testing::ValuesIn(replica_counts));

}  // namespace
}  // namespace lockstep::test
