#include <functional>

#include <support/small_problem.h>

#include <lockstep/kernels/array/array.h>
#include <lockstep/models/layers/bidirectional.h>
#include <lockstep/models/layers/gru.h>
#include <lockstep/models/layers/lstm.h>
#include <lockstep/models/layers/recurrent_layer.h>
#include <lockstep/models/layers/simple_rnn.h>
#include <lockstep/models/losses/regression.h>

#include "layer_test.h"

// Recurrent layers whose batches start with the states that the batch before left.

namespace lockstep::test {
namespace {

constexpr std::int64_t features = 2;
constexpr std::int64_t units = 3;

struct Case {
  const char* name;
  std::function<Layer(bool stateful)> make;
};

class Stateful : public testing::TestWithParam<Case> {
 protected:
  Layer layer(bool stateful) const { return built(GetParam().make(stateful), {{4, features}}, seed); }
};

TEST_P(Stateful, BatchesContinueTheSequencesOfTheBatchBefore) {
  const Tensor x = random_tensor({5, 4, features}, 1);
  const Layer stateful = layer(true);
  call(stateful, {x.slice_view(1, 0, 1)});
  call(stateful, {x.slice_view(1, 1, 3)}, training);
  expect_close(call(stateful, {x.slice_view(1, 3, 4)}), call(layer(false), {x}).to_vector<double>(), 16);
  reset_states(stateful.impl());
  expect_same_bits(call(stateful, {x}), call(layer(true), {x}));
}

TEST_P(Stateful, MaskedStepsLeaveTheStates) {
  const Tensor x = random_tensor({2, 4, features}, 1);
  const std::vector<Tensor> masks{Tensor::from(std::vector<bool>{true, false, false, false}, {2, 2})};
  const Layer stateful = layer(true);
  call(stateful, {x.slice_view(1, 0, 2)});
  call(stateful, {x.slice_view(1, 2, 4)}, {.masks = masks});
  const Tensor found = call(stateful, {x.slice_view(1, 0, 2)});
  const Layer expected = layer(false);
  const auto rows = [&](int row, std::int64_t begin, std::int64_t end) {
    return x.slice_view(0, row, row + 1).slice_view(1, begin, end);
  };
  const Tensor first = concatenate(std::vector{rows(0, 0, 3), rows(0, 0, 2)}, 1);
  const Tensor second = concatenate(std::vector{rows(1, 0, 2), rows(1, 0, 2)}, 1);
  expect_close(found.slice_view(0, 0, 1), call(expected, {first}).to_vector<double>(), 16);
  expect_close(found.slice_view(0, 1, 2), call(expected, {second}).to_vector<double>(), 16);
}

TEST_P(Stateful, HasTheStatesOfOneSizeOfBatch) {
  const Layer stateful = layer(true);
  call(stateful, {Tensor::zeros({5, 4, features})});
  EXPECT_ERROR(InvalidArgument,
               "'layer' is stateful and has the states of 5 examples, got a batch of 4: call "
               "reset_states() first",
               call(stateful, {Tensor::zeros({4, 4, features})}));
  reset_states(stateful.impl());
  EXPECT_EQ(call(stateful, {Tensor::zeros({4, 4, features})}).dim(0), 4);
}

INSTANTIATE_TEST_SUITE_P(
    Layers, Stateful,
    testing::Values(Case{"Lstm", [](bool on) { return LSTM({.units = units, .stateful = on}); }},
                    Case{
                        "LstmOfOtherOptions",
                        [](bool on) { return LSTM({.units = units, .stateful = on, .activation = Activation::relu}); }},
                    Case{"Gru", [](bool on) { return GRU({.units = units, .stateful = on}); }},
                    Case{"SimpleRnn", [](bool on) { return SimpleRNN({.units = units, .stateful = on}); }}),
    [](const auto& info) { return info.param.name; });

TEST(StatefulLayers, StartWithTheStatesThatACallIsGiven) {
  const Tensor x = random_tensor({2, 4, features}, 1);
  const Tensor state = random_tensor({2, units}, 2);
  const GRU stateful = built(GRU({.units = units, .stateful = true}), {{4, features}}, seed);
  call(stateful, {x});
  call(stateful, {x, state});
  const GRU other = built(GRU({.units = units}), {{4, features}}, seed);
  expect_close(call(stateful, {x}), call(other, {concatenate(std::vector{x, x}, 1), state}).to_vector<double>(), 16);
}

TEST(StatefulLayers, KeepTheStatesOfBothDirections) {
  const Tensor x = random_tensor({2, 4, features}, 1);
  const auto make = [](bool on) {
    return built(Bidirectional(GRU({.units = units, .return_state = true, .stateful = on})), {{4, features}}, seed);
  };
  const Bidirectional stateful = make(true);
  EXPECT_TRUE(is_stateful(stateful.impl()));
  std::vector<Tensor> states;
  call(stateful, {x}, {.more_results = &states});
  expect_same_bits(call(stateful, {x}), call(make(false), {x, states[0], states[1]}));
  reset_states(stateful.impl());
  expect_same_bits(call(stateful, {x}), call(make(true), {x}));
  EXPECT_ERROR(InvalidArgument, "Bidirectional needs layers of equal stateful, got true and false",
               Bidirectional(GRU({.units = units, .stateful = true}),
                             {.backward_layer = GRU({.units = units, .go_backwards = true})}));
}

Model stateful_model(const Strategy& strategy, std::int64_t batch_size) {
  const auto inside = strategy.scope();
  const Symbol x = Input({3, features}, "x", batch_size);
  const Symbol y =
      GRU({.units = units, .stateful = true})(LSTM({.units = units, .return_sequences = true, .stateful = true})(x));
  return {x, y, {.seed = 4}};
}

// Replica parts of 3 and 2 rows, and of 2, 2 and 1.
TEST(StatefulLayers, KeepTheStatesOfEachReplicasRows) {
  const Dataset data =
      Dataset::from_tensors(random_tensor({20, 3, features}, 1), random_tensor({20, units}, 2)).batch(5);
  const auto train = [&](int replicas) {
    Model model = stateful_model(mirrored(replicas), 5);
    model.compile(SGD({.learning_rate = 0.5}), MeanSquaredError());
    model.fit(data, {.epochs = 2});
    std::vector<std::vector<double>> results;
    for (const Tensor& weight : model.get_weights()) results.push_back(weight.to_vector<double>());
    results.push_back(model.predict(data).to_vector<double>());
    model.reset_states();
    results.push_back(model.predict(data).to_vector<double>());
    EXPECT_NE(results.back(), results[results.size() - 2]) << "the states of the batch before matter";
    return results;
  };
  const auto expected = train(1);
  for (const int replicas : {2, 3}) {
    const auto found = train(replicas);
    for (std::size_t i = 0; i < expected.size(); ++i)
      for (std::size_t k = 0; k < expected[i].size(); ++k)
        EXPECT_NEAR(found[i][k], expected[i][k], tolerance(DType::f32, 64, 1)) << replicas << ": " << i << ", " << k;
  }
}

TEST(StatefulLayers, NeedBatchesOfOneSize) {
  const Symbol x = Input({3, features}, "x");
  EXPECT_ERROR(InvalidArgument,
               "layer 'lstm' is stateful, which needs the same batch_size in each Input of the model, got 0 in 'x'",
               Model(x, LSTM({.units = units, .stateful = true})(x)));
  EXPECT_ERROR(InvalidArgument, "Input needs a batch_size of at least 1, or 0 for any, got -1", Input({3}, "x", -1));
  for (const int replicas : {1, 2}) {
    Model model = stateful_model(mirrored(replicas), 5);
    EXPECT_ERROR(InvalidArgument, "the model has stateful layers and takes batches of 5 examples, got 2",
                 model.predict(Dataset::from_tensors(random_tensor({7, 3, features}, 1)).batch(5)));
  }
}

}  // namespace
}  // namespace lockstep::test
