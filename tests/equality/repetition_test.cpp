// Two trainings with one seed give the same bits, dropout and shuffling included.

#include <gtest/gtest.h>
#include <support/small_problem.h>

#include <lockstep/models/layers/dropout.h>
#include <lockstep/models/zoo/mini_googlenet.h>

#include "labels.h"

namespace lockstep::test {
namespace {

using Copies = std::vector<std::vector<float>>;

/// Copies of every copy of every variable.
Copies copies_of(const Model& model) {
  Copies values;
  for (const Variable& variable : model.variables())
    for (const Tensor& copy : variable.state().copies()) values.push_back(copy.to_vector<float>());
  return values;
}

/// Variables after three steps.
Copies train_mini_googlenet(std::uint64_t seed) {
  const MirroredStrategy strategy = mirrored(2);
  const auto scope = strategy.scope();
  Model model = zoo::mini_googlenet({32, 32, 1}, 10, {.seed = seed});
  model.compile(SGD({.learning_rate = 5e-3, .momentum = 0.9}), SparseCategoricalCrossentropy({.from_logits = true}));
  constexpr int rows = 18;
  const Dataset examples = Dataset::from_tensors(random_tensor({rows, 32, 32, 1}, 1), cyclic_labels(rows, 10));
  model.fit(examples.shuffle({.seed = seed}).batch(7).prefetch());
  return copies_of(model);
}

TEST(Repetition, OneSeedGivesMiniGoogLeNetTheSameBits) {
  const Copies first = train_mini_googlenet(1);
  EXPECT_TRUE(train_mini_googlenet(1) == first);
  EXPECT_FALSE(train_mini_googlenet(2) == first);
}

struct Training {
  Copies values;
  std::vector<double> losses;
  friend bool operator==(const Training&, const Training&) = default;
};

class RepetitionOn : public testing::TestWithParam<int> {
 protected:
  const int replicas_ = GetParam();

  /// A small model with dropout, for nine steps over batches that most numbers of replicas do not divide.
  Training train(std::uint64_t seed, const DistributeOptions& distribute = {}) const {
    const MirroredStrategy strategy = mirrored(replicas_);
    const auto scope = strategy.scope();
    const Symbol input = Input({8});
    const Symbol hidden = Dense({.units = 16, .activation = Activation::relu})(input);
    Model model(input, Dense({.units = 3})(Dropout({.rate = 0.5})(hidden)), {.seed = seed});
    model.compile(SGD({.learning_rate = 0.1, .momentum = 0.9}), SparseCategoricalCrossentropy({.from_logits = true}));
    const Dataset data = SmallProblem(50).dataset().shuffle({.seed = seed}).batch(17);
    const History history = model.fit(data, {.epochs = 3, .verify_every = 1, .distribute = distribute});
    return {copies_of(model), history.values.at("loss")};
  }
};

// semantics 9.1, 15.9: streams of random numbers by (seed, layer, replica, step).
TEST_P(RepetitionOn, OneSeedGivesTheSameBits) {
  const Training first = train(1);
  EXPECT_TRUE(train(1) == first);
  EXPECT_FALSE(train(2) == first);
}

TEST_P(RepetitionOn, TheSameSharesGiveTheSameBits) {
  DistributeOptions uneven;
  for (int replica = 0; replica < replicas_; ++replica) uneven.shares.push_back(1 + replica);
  EXPECT_TRUE(train(1, uneven) == train(1, uneven));
}

TEST_P(RepetitionOn, BuffersDoNotMatter) {
  const Training first = train(1);
  EXPECT_TRUE(train(1, {.per_replica_buffer_size = 0}) == first);
  EXPECT_TRUE(train(1, {.per_replica_buffer_size = 7}) == first);
}

INSTANTIATE_TEST_SUITE_P(Replicas, RepetitionOn, testing::Values(1, 2, 3, 5));

}  // namespace
}  // namespace lockstep::test
