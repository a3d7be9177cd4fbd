// Two trainings with one seed give the same bits, dropout and shuffling included.

#include <gtest/gtest.h>
#include <support/replicas.h>
#include <support/tensors.h>

#include <lockstep/models/optimizers/sgd.h>
#include <lockstep/models/zoo/mini_googlenet.h>

#include "labels.h"

namespace lockstep::test {
namespace {

/// Every copy of every variable after three steps.
std::vector<std::vector<float>> train(std::uint64_t seed) {
  const MirroredStrategy strategy = mirrored(2);
  const auto scope = strategy.scope();
  Model model = zoo::mini_googlenet({32, 32, 1}, 10, {.seed = seed});
  model.compile(SGD({.learning_rate = 5e-3, .momentum = 0.9}), SparseCategoricalCrossentropy({.from_logits = true}));
  constexpr int rows = 18;
  const Dataset examples = Dataset::from_tensors(random_tensor({rows, 32, 32, 1}, 1), cyclic_labels(rows, 10));
  model.fit(examples.shuffle({.seed = seed}).batch(7).prefetch());

  std::vector<std::vector<float>> values;
  for (const Variable& variable : model.variables())
    for (const Tensor& copy : variable.state().copies()) values.push_back(copy.to_vector<float>());
  return values;
}

TEST(Repetition, OneSeedGivesTheSameBits) {
  const std::vector<std::vector<float>> first = train(1);
  EXPECT_TRUE(train(1) == first);
  EXPECT_FALSE(train(2) == first);
}

}  // namespace
}  // namespace lockstep::test
