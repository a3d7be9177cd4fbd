// The gradient penalty of WGAN-GP (Gulrajani et al. 2017) in a custom loop: a step differentiates a gradient.

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/replicas.h>
#include <support/tensors.h>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/linear_algebra/norm.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/models/layers/activation.h>
#include <lockstep/models/layers/batch_normalization.h>
#include <lockstep/models/layers/conv.h>
#include <lockstep/models/layers/dense.h>
#include <lockstep/models/layers/flatten.h>
#include <lockstep/models/layers/layer_normalization.h>
#include <lockstep/models/layers/pooling.h>
#include <lockstep/models/losses/average_loss.h>
#include <lockstep/models/optimizers/sgd.h>
#include <lockstep/models/training/sequential.h>
#include <lockstep/runtime/autograd/tape.h>
#include <lockstep/strategy/input/distributed_dataset.h>

namespace lockstep::test {
namespace {

/// Normalized by the statistics of all replicas' rows, before layers that are not linear: the sum of the normalized
/// rows is a constant.
Model batch_normalized_critic() {
  return Sequential({6, 6, 2}, {Conv2D({.filters = 4, .kernel_size = 3, .activation = Activation::tanh}), Flatten(),
                                Dense({.units = 5, .activation = Activation::tanh}),
                                BatchNormalization({.epsilon = 0.1, .synchronized = true}),
                                Dense({.units = 3, .activation = Activation::tanh}), Dense({.units = 1})});
}

Model critic() {
  return Sequential({6, 6, 2},
                    {Conv2D({.filters = 4, .kernel_size = 3, .padding = Padding::same, .activation = Activation::tanh}),
                     LeakyReLU(), LayerNormalization({.epsilon = 0.1}), AveragePooling2D({.pool_size = 2}), Flatten(),
                     Dense({.units = 3, .activation = Activation::tanh}), Dense({.units = 1})});
}

/// One value for each row: (norm of the critic's gradient with respect to the row - 1)^2.
Tensor gradient_penalty(const Model& model, const Tensor& x) {
  GradientTape inner;
  inner.watch(x);
  const Tensor scores = model(x, Mode::train);
  const Tensor gradient = inner.gradient(scores, std::vector{x}).front();
  return square(norm(gradient, {1, 2, 3}) - 1.0);
}

/// The variables of make()'s model after two steps on batches of `rows`.
std::vector<Tensor> trained(Model (*make)(), int replicas, std::int64_t rows) {
  const MirroredStrategy strategy = mirrored(replicas);
  const auto scope = strategy.scope();
  const Model model = make();
  const SGD optimizer({.learning_rate = 0.1});
  const Dataset points = Dataset::from_tensors(random_tensor({2 * rows, 6, 6, 2}, 1)).batch(rows);
  for (const DistributedBatch& batch : strategy.distribute(points).epoch())
    strategy.run(
        [&](const Batch& local) {
          GradientTape tape;
          tape.watch(local.x());
          const Tensor penalty = gradient_penalty(model, local.x());
          optimizer.minimize(tape, compute_average_loss(penalty, {.global_batch_size = batch.global_size()}),
                             model.trainable_variables());
        },
        batch);
  std::vector<Tensor> values;
  for (const Variable& variable : model.trainable_variables()) values.push_back(variable.value());
  return values;
}

void expect_same_on_replicas(Model (*make)(), std::int64_t rows, std::initializer_list<int> counts) {
  const std::vector<Tensor> expected = trained(make, 1, rows);
  for (const int replicas : counts) {
    SCOPED_TRACE(testing::Message() << rows << " rows, " << replicas << " replicas");
    const std::vector<Tensor> found = trained(make, replicas, rows);
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i)
      expect_close(found[i], expected[i].to_vector<double>(), 36 * rows, 1);
  }
}

TEST(GradientPenalty, TrainsOnReplicasAsOnOne) {
  for (const std::int64_t rows : {7, 1}) expect_same_on_replicas(critic, rows, {2, 3});
}

TEST(GradientPenalty, OfSynchronizedBatchNormalizationTrainsOnReplicasAsOnOne) {
  expect_same_on_replicas(batch_normalized_critic, 7, {2, 3});
  expect_same_on_replicas(batch_normalized_critic, 4, {5});
}

// The penalty's gradient with respect to a weight, by differences of the penalty.
TEST(GradientPenalty, HasTheGradientOfItsDifferences) {
  const Model model = critic();
  const Tensor x = random_tensor({3, 6, 6, 2}, 2);
  const Variable kernel = model.trainable_variables().front();
  GradientTape tape;
  tape.watch(x);
  const Tensor value = kernel.value();
  const Tensor gradient = tape.gradient(sum(gradient_penalty(model, x)), std::vector{value}).front();
  const std::vector<float> before = value.to_vector<float>();
  for (const std::size_t element : {0U, 17U, 71U}) {
    const auto penalty_at = [&](float offset) {
      std::vector<float> moved = before;
      moved[element] += offset;
      kernel.assign(Tensor::from(moved, value.shape()));
      return sum(gradient_penalty(model, x)).item<float>();
    };
    const float difference = (penalty_at(2e-3F) - penalty_at(-2e-3F)) / 4e-3F;
    kernel.assign(Tensor::from(before, value.shape()));
    EXPECT_NEAR(gradient.to_vector<float>()[element], difference, 1e-2 * (1 + std::abs(difference))) << element;
  }
}

}  // namespace
}  // namespace lockstep::test
