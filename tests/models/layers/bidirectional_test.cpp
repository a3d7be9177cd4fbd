#include <algorithm>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/recurrence/gru.h>
#include <lockstep/kernels/recurrence/lstm.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/models/layers/bidirectional.h>
#include <lockstep/models/layers/dense.h>
#include <lockstep/models/layers/gru.h>
#include <lockstep/models/layers/lstm.h>
#include <lockstep/models/layers/regularizers.h>

#include "layer_test.h"

namespace lockstep::test {
namespace {

Tensor reversed(const Tensor& x) {
  std::vector<Tensor> steps = split(x, x.dim(1), 1);
  std::ranges::reverse(steps);
  return concatenate(steps, 1);
}

TEST(BidirectionalLayer, HasTheWeightsOfBothDirections) {
  const Bidirectional layer = built(Bidirectional(LSTM({.units = 3})), {{5, 7}});
  EXPECT_THAT(weights_of(layer),
              testing::ElementsAre("layer/forward_lstm/kernel (7, 12)", "layer/forward_lstm/recurrent_kernel (3, 12)",
                                   "layer/forward_lstm/bias (12)", "layer/backward_lstm/kernel (7, 12)",
                                   "layer/backward_lstm/recurrent_kernel (3, 12)", "layer/backward_lstm/bias (12)"));
  EXPECT_NE(weight(layer, 0).to_vector<float>(), weight(layer, 3).to_vector<float>());
  EXPECT_EQ(shape_after(layer, {{9, 7}}), Shape{6});
  const Bidirectional all(GRU({.units = 3, .return_sequences = true}), {.merge_mode = MergeMode::ave});
  EXPECT_EQ(shape_after(all, {{9, 7}}), Shape({9, 3}));
}

TEST(BidirectionalLayer, MergesTheStepsOfBothDirections) {
  const Tensor x = random_tensor({4, 5, 7}, 2);
  const auto check = [&](MergeMode mode, const auto& merge) {
    const Bidirectional layer =
        built(Bidirectional(LSTM({.units = 3, .return_sequences = true}), {.merge_mode = mode}), {{5, 7}});
    const Tensor forward = lstm(x, weight(layer, 0), weight(layer, 1), weight(layer, 2), true);
    const Tensor backward = lstm(reversed(x), weight(layer, 3), weight(layer, 4), weight(layer, 5), true);
    expect_same_bits(call(layer, {x}), merge(forward, reversed(backward)));
  };
  check(MergeMode::concat, [](const Tensor& a, const Tensor& b) { return concatenate(std::vector{a, b}, -1); });
  check(MergeMode::sum, [](const Tensor& a, const Tensor& b) { return a + b; });
  check(MergeMode::mul, [](const Tensor& a, const Tensor& b) { return a * b; });
  check(MergeMode::ave, [](const Tensor& a, const Tensor& b) { return (a + b) / 2; });
}

TEST(BidirectionalLayer, MergesTheLastStateOfEachDirection) {
  const Tensor x = random_tensor({4, 5, 7}, 2);
  const Bidirectional layer =
      built(Bidirectional(GRU({.units = 3}), {.backward_layer = LSTM({.units = 3, .go_backwards = true})}), {{5, 7}});
  const Tensor forward = gru(x, weight(layer, 0), weight(layer, 1), weight(layer, 2), false);
  const Tensor backward = lstm(reversed(x), weight(layer, 3), weight(layer, 4), weight(layer, 5), false);
  expect_same_bits(call(layer, {x}), concatenate(std::vector{forward, backward}, -1));
}

TEST(BidirectionalLayer, TakesAndReturnsTheStatesOfBothDirections) {
  const std::vector<Tensor> in{random_tensor({4, 5, 7}, 1), random_tensor({4, 3}, 2), random_tensor({4, 3}, 3),
                               random_tensor({4, 3}, 4), random_tensor({4, 3}, 5)};
  const Bidirectional layer = built(Bidirectional(LSTM({.units = 3, .return_state = true})), {{5, 7}});
  std::vector<Tensor> states;
  const Tensor y = call(layer, in, {.more_results = &states});
  const auto op = [&](const Tensor& x, int first_weight, std::size_t first_state) {
    return lstm(x, weight(layer, first_weight), weight(layer, first_weight + 1), weight(layer, first_weight + 2),
                {.h = in[first_state], .c = in[first_state + 1]}, false);
  };
  const RecurrentStates forward = op(in[0], 0, 1);
  const RecurrentStates backward = op(reversed(in[0]), 3, 3);
  expect_same_bits(y, concatenate(std::vector{forward.h, backward.h}, -1));
  ASSERT_EQ(states.size(), 4U);
  expect_same_bits(states[1], forward.c);
  expect_same_bits(states[2], backward.h);
  expect_same_bits(states[3], backward.c);
  EXPECT_ERROR(InvalidArgument, "Bidirectional takes one input, or also 4 initial states, got 3 inputs",
               shape_after(layer, {{5, 7}, {3}, {3}}));
}

TEST(BidirectionalLayer, ReturnsBothDirectionsWithoutAMergeMode) {
  const Tensor x = random_tensor({4, 5, 7}, 2);
  for (const bool return_state : {false, true}) {
    const Bidirectional layer =
        built(Bidirectional(LSTM({.units = 3, .return_sequences = true, .return_state = return_state}),
                            {.merge_mode = MergeMode::none}),
              {{5, 7}});
    std::vector<Tensor> more;
    const Tensor y = call(layer, {x}, {.more_results = &more});
    const auto op = [&](const Tensor& steps, int first) {
      return lstm(steps, weight(layer, first), weight(layer, first + 1), weight(layer, first + 2), true);
    };
    expect_same_bits(y, op(x, 0));
    expect_same_bits(call(layer, {x}), y);
    ASSERT_EQ(more.size(), return_state ? 5U : 1U);
    expect_same_bits(more[0], reversed(op(reversed(x), 3)));
    if (return_state) expect_same_bits(more[1], reshape(slice(y, 1, 4, 5), {4, 3}));
    std::vector<Shape> shapes(more.size(), Shape{3});
    shapes[0] = {5, 3};
    EXPECT_EQ(layer.impl().more_output_shapes(std::vector<Shape>{{5, 7}}), shapes);
  }
}

TEST(BidirectionalLayer, IsFrozenAndPenalizedAsAWhole) {
  const Bidirectional layer(LSTM({.units = 2, .kernel_regularizer = L2(0.5)}));
  built(layer, {{3, 2}});
  const auto penalty = [&](int number) { return sum(square(weight(layer, number))).item<float>() / 2; };
  EXPECT_FLOAT_EQ(layer.impl().regularization_loss().item<float>(), penalty(0) + penalty(3));
  const Bidirectional frozen(LSTM({.units = 2, .kernel_regularizer = L2(0.5)}));
  frozen.impl().set_trainable(false);
  built(frozen, {{3, 2}});
  for (const Variable& variable : frozen.impl().variables()) EXPECT_FALSE(variable.trainable()) << variable.name();
  EXPECT_FALSE(frozen.impl().regularization_loss().defined());
  frozen.impl().set_trainable(true);
  for (const Variable& variable : frozen.impl().variables()) EXPECT_TRUE(variable.trainable()) << variable.name();
  EXPECT_TRUE(frozen.impl().regularization_loss().defined());
  layer.impl().set_trainable(false);
  for (const InnerLayer& inner : layer.impl().inner_layers()) EXPECT_FALSE(inner.layer->trainable());
  EXPECT_FALSE(layer.impl().regularization_loss().defined());
}

TEST(BidirectionalLayer, RefusesWhatItCannotTake) {
  EXPECT_ERROR(InvalidArgument, "takes a recurrent layer, LSTM, GRU or SimpleRNN, got Dense",
               Bidirectional(Dense({.units = 2})));
  EXPECT_ERROR(InvalidArgument, "layers of opposite directions, got two with go_backwards = false",
               Bidirectional(GRU({.units = 2}), {.backward_layer = GRU({.units = 2})}));
  EXPECT_ERROR(InvalidArgument, "layers of equal return_sequences, got true and false",
               Bidirectional(GRU({.units = 2, .return_sequences = true}),
                             {.backward_layer = GRU({.units = 2, .go_backwards = true})}));
  EXPECT_ERROR(InvalidArgument, "layers of equal return_state, got true and false",
               Bidirectional(GRU({.units = 2, .return_state = true}),
                             {.backward_layer = GRU({.units = 2, .go_backwards = true})}));
  const Bidirectional uneven(GRU({.units = 2}), {.backward_layer = GRU({.units = 3, .go_backwards = true})});
  EXPECT_ERROR(InvalidArgument, "layers of the same units, got results (2) and (3)", shape_after(uneven, {{4, 5}}));
}

}  // namespace
}  // namespace lockstep::test
