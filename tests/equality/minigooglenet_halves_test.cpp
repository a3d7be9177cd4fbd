// MiniGoogLeNet over two replicas against a plain run of the two half batches with averaged gradients.

#include <string>

#include <gtest/gtest.h>
#include <support/tensors.h>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/losses/cross_entropy.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/models/optimizers/sgd.h>
#include <lockstep/models/zoo/mini_googlenet.h>
#include <lockstep/runtime/autograd/tape.h>
#include <lockstep/runtime/thread/parallel.h>
#include <lockstep/strategy/input/distributed_dataset.h>
#include <lockstep/strategy/strategies/mirrored_strategy.h>

#include "labels.h"

namespace lockstep::test {
namespace {

constexpr int half_steps = 3;
constexpr int half_rows = 8;
constexpr float learning_rate = 5e-3F;
constexpr float momentum = 0.9F;
const zoo::MiniGoogLeNetOptions without_dropout{.dropout = 0, .seed = 5};

Batch batch(int step) {
  return {{random_tensor({half_rows, 32, 32, 3}, static_cast<unsigned>(step))}, {cyclic_labels(half_rows, 10)}};
}

Tensor share_of_loss(const Model& model, const Batch& local) {
  return sum(sparse_softmax_cross_entropy(model(local.x(), Mode::train), local.y())) / half_rows;
}

std::vector<std::vector<float>> values_of(const std::vector<Variable>& variables) {
  std::vector<std::vector<float>> values;
  for (const Variable& variable : variables) values.push_back(variable.value().to_vector<float>());
  return values;
}

std::vector<std::vector<float>> train_on_replicas() {
  // One thread for each replica, as in the plain run.
  const MirroredStrategy strategy({LogicalDevice{.index = 0, .cores = 1}, LogicalDevice{.index = 1, .cores = 1}});
  const auto scope = strategy.scope();
  const Model model = zoo::mini_googlenet({32, 32, 3}, 10, without_dropout);
  const SGD optimizer({.learning_rate = learning_rate, .momentum = momentum});
  for (int step = 0; step < half_steps; ++step) {
    strategy.run(
        [&](const Batch& local) {
          GradientTape tape;
          optimizer.minimize(tape, share_of_loss(model, local), model.trainable_variables());
        },
        DistributedBatch(batch(step), 2));
  }
  return values_of(model.trainable_variables());
}

/// Without a strategy or optimizer: two backward passes one after the other, and SGD with momentum written out.
std::vector<std::vector<float>> train_plainly() {
  const ComputeThreadsScope one_thread(1);
  const Model model = zoo::mini_googlenet({32, 32, 3}, 10, without_dropout);
  std::vector<Tensor> parameters;
  for (const Variable& variable : model.trainable_variables()) parameters.push_back(variable.value());
  std::vector<std::vector<float>> velocity;
  for (const Tensor& parameter : parameters) velocity.emplace_back(parameter.elements(), 0.0F);

  const auto gradients_of = [&](const Batch& half) {
    GradientTape tape;
    return tape.gradient(share_of_loss(model, half), parameters);
  };
  for (int step = 0; step < half_steps; ++step) {
    const DistributedBatch halves(batch(step), 2);
    const std::vector<Tensor> first = gradients_of(halves.local_results()[0]);
    const std::vector<Tensor> second = gradients_of(halves.local_results()[1]);
    for (std::size_t p = 0; p < parameters.size(); ++p) {
      for (std::int64_t i = 0; i < parameters[p].elements(); ++i) {
        float& v = velocity[p][i];
        v = v * momentum - (first[p].data<float>()[i] + second[p].data<float>()[i]) * learning_rate;
        parameters[p].data<float>()[i] += v;
      }
    }
  }
  return values_of(model.trainable_variables());
}

TEST(MiniGoogLeNetOnTwoReplicas, EqualsThePlainRunOfItsHalves) {
  const Model initial = zoo::mini_googlenet({32, 32, 3}, 10, without_dropout);
  const std::vector<std::vector<float>> before = values_of(initial.trainable_variables());
  const std::vector<std::vector<float>> replicas = train_on_replicas();
  const std::vector<std::vector<float>> plain = train_plainly();
  ASSERT_EQ(replicas.size(), plain.size());
  // The same operations in the same order on one thread each: no rounding may differ.
  for (std::size_t p = 0; p < plain.size(); ++p) {
    const std::string name = initial.trainable_variables()[p].name();
    EXPECT_EQ(replicas[p], plain[p]) << name;
    // Batch normalization cancels a convolution's bias.
    if (name.starts_with("conv2d") && name.ends_with("/bias"))
      EXPECT_EQ(replicas[p], before[p]) << name << " has a gradient";
    else
      EXPECT_NE(replicas[p], before[p]) << name << " was not trained";
  }
}

}  // namespace
}  // namespace lockstep::test
