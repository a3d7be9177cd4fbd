#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/array/comparison.h>
#include <lockstep/kernels/recurrence/lstm.h>
#include <lockstep/models/layers/lstm.h>

#include "layer_test.h"

namespace lockstep::test {
namespace {

TEST(LstmLayer, HasKerasWeights) {
  const LSTM layer = built(LSTM({.units = 3}), {{5, 7}});
  EXPECT_THAT(weights_of(layer),
              testing::ElementsAre("layer/kernel (7, 12)", "layer/recurrent_kernel (3, 12)", "layer/bias (12)"));
  EXPECT_EQ(layer.impl().count_params(), 4 * 3 * (7 + 3 + 1));
  EXPECT_EQ(shape_after(layer, {{5, 7}}), Shape{3});
  EXPECT_EQ(shape_after(layer, {{9, 7}}), Shape{3}) << "any number of steps";
  EXPECT_EQ(shape_after(LSTM({.units = 3, .return_sequences = true}), {{5, 7}}), Shape({5, 3}));
}

TEST(LstmLayer, TheForgetGateStartsOpen) {
  const std::vector<float> ones_and_zeros{0, 0, 0, 1, 1, 1, 0, 0, 0, 0, 0, 0};
  EXPECT_EQ(weight(built(LSTM({.units = 3}), {{5, 7}}), 2).to_vector<float>(), ones_and_zeros);
  const LSTM closed = built(LSTM({.units = 3, .unit_forget_bias = false}), {{5, 7}});
  EXPECT_EQ(weight(closed, 2).to_vector<float>(), std::vector<float>(12, 0));
}

TEST(LstmLayer, ComputesTheOp) {
  const Tensor x = random_tensor({4, 5, 7}, 2);
  for (const bool sequences : {false, true}) {
    const LSTM layer = built(LSTM({.units = 3, .return_sequences = sequences}), {{5, 7}});
    expect_same_bits(call(layer, {x}), lstm(x, weight(layer, 0), weight(layer, 1), weight(layer, 2), sequences));
  }
}

TEST(LstmLayer, TakesAndReturnsStates) {
  const std::vector<Tensor> in{random_tensor({4, 5, 7}, 2), random_tensor({4, 3}, 3), random_tensor({4, 3}, 4)};
  for (const bool sequences : {false, true}) {
    const LSTM layer = built(LSTM({.units = 3, .return_sequences = sequences, .return_state = true}), {{5, 7}});
    const auto op = [&](const RecurrentStates& initial, bool all) {
      return lstm(in[0], weight(layer, 0), weight(layer, 1), weight(layer, 2), initial, all);
    };
    std::vector<Tensor> states;
    const Tensor y = call(layer, in, {.more_results = &states});
    const RecurrentStates last = op({.h = in[1], .c = in[2]}, false);
    expect_same_bits(y, op({.h = in[1], .c = in[2]}, sequences).h);
    ASSERT_EQ(states.size(), 2U);
    expect_same_bits(states[0], last.h);
    expect_same_bits(states[1], last.c);
    call(layer, {in[0]}, {.more_results = &states});
    expect_same_bits(states[1], op({}, false).c);
  }
}

// A mask of a row's first, of no and of all steps.
TEST(LstmLayer, ReturnsTheStatesOfTheLastUnmaskedStep) {
  const Tensor x = random_tensor({3, 4, 2}, 2);
  const Tensor mask = not_equal(Tensor::from(std::vector<float>{1, 1, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0}, {3, 4}), 0);
  for (const Activation activation : {Activation::tanh, Activation::softsign}) {
    const LSTM layer =
        built(LSTM({.units = 3, .return_sequences = true, .return_state = true, .activation = activation}), {{4, 2}});
    std::vector<Tensor> masked;
    call(layer, {x}, {.masks = std::span(&mask, 1), .more_results = &masked});
    const auto after = [&](std::int64_t row, std::int64_t steps, std::size_t state) {
      std::vector<Tensor> states;
      call(layer, {slice(slice(x, 0, row, row + 1), 1, 0, steps)}, {.more_results = &states});
      return states[state];
    };
    for (std::size_t state = 0; state < 2; ++state) {
      const auto row = [&](std::int64_t i) { return slice(masked[state], 0, i, i + 1); };
      expect_close(row(0), after(0, 2, state).to_vector<double>(), 8);
      expect_close(row(1), after(1, 4, state).to_vector<double>(), 8);
      expect_same_bits(row(2), Tensor::zeros({1, 3}));
    }
  }
}

TEST(LstmLayer, ComputesAllStepsFromGivenStatesAsInKeras3) {
  const std::vector<Tensor> in{random_tensor({3, 4, 2}, 2), random_tensor({3, 3}, 3), random_tensor({3, 3}, 4)};
  const Tensor mask = Tensor::zeros({3, 4}, DType::boolean);
  const LSTM layer = built(LSTM({.units = 3}), {{4, 2}});
  const std::vector<Tensor> masks{mask, {}, {}};
  expect_same_bits(call(layer, in, {.masks = masks}), call(layer, in));
}

TEST(LstmLayer, RefusesWhatItCannotTake) {
  EXPECT_ERROR(InvalidArgument, "at least 1 unit", LSTM({.units = 0}));
  const LSTM layer({.units = 3});
  EXPECT_ERROR(InvalidArgument, "takes sequences (time, features), got (7)", shape_after(layer, {Shape{7}}));
  built(layer, {{5, 7}});
  EXPECT_ERROR(InvalidArgument, "built for 7 features, got (5, 8)", shape_after(layer, {{5, 8}}));
  EXPECT_ERROR(InvalidArgument, "LSTM takes one input, or also 2 initial states, got 2 inputs",
               shape_after(layer, {{5, 7}, {3}}));
  EXPECT_ERROR(InvalidArgument, "LSTM takes initial states of (3), got (4)", shape_after(layer, {{5, 7}, {3}, {4}}));
}

}  // namespace
}  // namespace lockstep::test
