#include <gtest/gtest.h>
#include <support/expect_error.h>
#include <support/replicas.h>
#include <support/tensors.h>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/indexing/embedding.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/models/optimizers/adam.h>
#include <lockstep/models/optimizers/sgd.h>

namespace lockstep {
namespace {

using test::this_replica;

std::vector<Variable> make_variables(const Strategy& strategy) {
  const auto inside = strategy.scope();
  return {test::variable_of("table", test::random_tensor({11, 4}, 1)),
          test::variable_of("kernel", test::random_tensor({4}, 2))};
}

/// The same global gradient for any number of replicas: the first replica has all of it.
void step(const Strategy& strategy, const Optimizer& optimizer, const std::vector<Variable>& variables, int number) {
  strategy.run([&] {
    GradientTape tape;
    const std::int64_t rows = this_replica() == 0 ? 5 : 0;
    std::vector<std::int64_t> ids;
    for (std::int64_t i = 0; i < rows; ++i) ids.push_back((i * i + number) % 11);
    const Tensor looked_up = embedding_lookup(variables[0].value(), Tensor::from(ids, {rows}));
    optimizer.minimize(tape, sum(square(looked_up * variables[1].value())), variables);
  });
}

const OptimizerOptions with_average{.use_ema = true, .ema_momentum = 0.5};

// TF case 83: testCheckpointRestoreOptimizerSlots. There, restoring outside of the scope is an error of old optimizers;
// here an optimizer belongs to the strategy of its first step, wherever its state was loaded.
class SavedState : public testing::TestWithParam<std::tuple<int, int>> {};

TEST_P(SavedState, GoesOnWithAnyNumberOfReplicas) {
  const auto [before, after] = GetParam();
  const MirroredStrategy saving = test::mirrored(before);
  const std::vector<Variable> straight = make_variables(saving);
  const Adam optimizer({.learning_rate = 0.1}, with_average);
  for (int number = 0; number < 3; ++number) step(saving, optimizer, straight, number);
  const OptimizerState state = optimizer.state();
  EXPECT_EQ(state.steps, 3);
  ASSERT_EQ(state.slots.size(), 3U);
  EXPECT_EQ(state.slots[0].name, "momentum");
  EXPECT_EQ(state.slots[1].name, "velocity");
  EXPECT_EQ(state.slots[2].name, "average");
  EXPECT_EQ(state.slots[1].values[0].shape(), Shape({11, 4}));

  const MirroredStrategy loading = test::mirrored(after);
  const std::vector<Variable> resumed = make_variables(loading);
  for (std::size_t i = 0; i < resumed.size(); ++i) resumed[i].assign(straight[i].value());
  const Adam restored({.learning_rate = 0.5}, with_average);
  restored.load_state(state);
  EXPECT_EQ(restored.iterations(), 3);
  EXPECT_EQ(restored.learning_rate(), 0.1);
  for (int number = 3; number < 6; ++number) {
    step(saving, optimizer, straight, number);
    step(loading, restored, resumed, number);
  }
  for (std::size_t i = 0; i < resumed.size(); ++i) {
    test::expect_same_bits(resumed[i].value(), straight[i].value());
    for (std::size_t slot = 0; slot < 3; ++slot)
      test::expect_same_bits(restored.state().slots[slot].values[i], optimizer.state().slots[slot].values[i]);
  }
}

INSTANTIATE_TEST_SUITE_P(FromTo, SavedState,
                         testing::Values(std::tuple{1, 1}, std::tuple{1, 2}, std::tuple{3, 1}, std::tuple{2, 5}));

TEST(OptimizerState, HasNoAveragesToAssignBeforeTheFirstStep) {
  const MirroredStrategy strategy = test::mirrored(2);
  const std::vector<Variable> variables = make_variables(strategy);
  const Adam optimizer({.learning_rate = 0.1}, with_average);
  strategy.run([&] { optimizer.build(variables); });
  optimizer.finalize_variable_values();
  test::expect_same_bits(variables[0].value(), test::random_tensor({11, 4}, 1));
  const OptimizerState state = optimizer.state();
  step(strategy, optimizer, variables, 0);
  optimizer.load_state(state);
  const Tensor before = variables[0].value();
  optimizer.finalize_variable_values();
  test::expect_same_bits(variables[0].value(), before);
}

TEST(OptimizerState, IsACopyAndCanBeLoadedAgainAfterSteps) {
  const MirroredStrategy strategy = test::mirrored(2);
  const std::vector<Variable> variables = make_variables(strategy);
  const SGD optimizer({.learning_rate = 0.1, .momentum = 0.9});
  step(strategy, optimizer, variables, 0);
  const OptimizerState saved = optimizer.state();
  const std::vector<float> momentum = saved.slots[0].values[0].to_vector<float>();
  const std::vector<float> weights = variables[0].value().to_vector<float>();
  step(strategy, optimizer, variables, 1);
  const std::vector<float> after = variables[0].value().to_vector<float>();
  EXPECT_EQ(saved.slots[0].values[0].to_vector<float>(), momentum);
  variables[0].assign(Tensor::from(weights, {11, 4}));
  optimizer.load_state(saved);
  EXPECT_EQ(optimizer.iterations(), 1);
  EXPECT_EQ(optimizer.state().slots[0].values[0].to_vector<float>(), momentum);
}

TEST(OptimizerState, BeforeTheFirstStepIsWhatWasLoaded) {
  const Adam optimizer;
  EXPECT_EQ(optimizer.state().steps, 0);
  EXPECT_TRUE(optimizer.state().slots.empty());
  OptimizerState state{.steps = 7, .learning_rate = 0.25, .slots = {}};
  optimizer.load_state(state);
  EXPECT_EQ(optimizer.state().steps, 7);
  EXPECT_EQ(optimizer.learning_rate(), 0.25);
}

TEST(OptimizerState, KeepsALearningRateThatIsSetBeforeTheFirstStep) {
  const MirroredStrategy strategy = test::mirrored(2);
  const std::vector<Variable> variables = make_variables(strategy);
  const SGD first({.learning_rate = 0.5});
  step(strategy, first, variables, 0);
  const SGD second({.learning_rate = 0.1});
  second.load_state(first.state());
  EXPECT_EQ(second.learning_rate(), 0.5);
  second.set_learning_rate(0.25);
  EXPECT_EQ(second.state().learning_rate, 0.25);
  step(strategy, second, variables, 1);
  EXPECT_EQ(second.learning_rate(), 0.25);
}

TEST(OptimizerState, OfAnotherOptimizerIsRefused) {
  const MirroredStrategy strategy = test::mirrored(2);
  const std::vector<Variable> variables = make_variables(strategy);
  const Adam adam;
  step(strategy, adam, variables, 0);
  const SGD sgd({.momentum = 0.9});
  step(strategy, sgd, make_variables(strategy), 0);
  EXPECT_ERROR(InvalidArgument, "keeps 2 values of each parameter; the state to load has 1",
               adam.load_state(sgd.state()));
  OptimizerState state = adam.state();
  state.slots[1].values[1] = Tensor::zeros({5});
  EXPECT_ERROR(InvalidArgument, "the velocity of 'kernel' must be f32 (4), the state to load has f32 (5)",
               adam.load_state(state));
  state.slots[1].values.pop_back();
  EXPECT_ERROR(InvalidArgument, "the optimizer has 2 variables, the state to load 1", adam.load_state(state));
  EXPECT_ERROR(LogicError, "inside a replica", strategy.run([&] { adam.state(); }));

  const Adam later;  // errors that cannot be detected before the first step are reported in it
  later.load_state(sgd.state());
  EXPECT_ERROR(InvalidArgument, "keeps 2 values", step(strategy, later, make_variables(strategy), 0));
}

TEST(OptimizerState, WithoutTheValueOfAScalarIsRefused) {
  const MirroredStrategy strategy = test::mirrored(1);
  const auto inside = strategy.scope();
  const std::vector<Variable> variables{test::variable_of("scale", Tensor::zeros({}))};
  const SGD sgd({.momentum = 0.9});
  strategy.run([&] {
    GradientTape tape;
    sgd.minimize(tape, sum(square(variables[0].value())), variables);
  });
  OptimizerState state = sgd.state();
  state.slots.at(0).values.at(0) = Tensor();
  EXPECT_ERROR(InvalidArgument, "the state to load has an undefined tensor", sgd.load_state(state));
}

}  // namespace
}  // namespace lockstep
