#include <support/replicas.h>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/random/dropout.h>
#include <lockstep/kernels/recurrence/composed_recurrence.h>
#include <lockstep/kernels/recurrence/gru.h>
#include <lockstep/models/layers/gru.h>
#include <lockstep/models/layers/lstm.h>
#include <lockstep/models/layers/simple_rnn.h>

#include "layer_test.h"

namespace lockstep::test {
namespace {

/// The factors of a layer's n-th draw, (4, gates, inputs).
Tensor factors(std::int64_t gates, std::int64_t inputs, float rate, std::uint64_t draw) {
  return dropout(Tensor::full({4, gates, inputs}, 1), rate, {.seed = 7, .stream = 51, .replica = 0, .step = draw});
}

TEST(SimpleRnnLayer, HasKerasWeights) {
  const SimpleRNN layer = built(SimpleRNN({.units = 3}), {{5, 7}});
  EXPECT_THAT(weights_of(layer),
              testing::ElementsAre("layer/kernel (7, 3)", "layer/recurrent_kernel (3, 3)", "layer/bias (3)"));
  EXPECT_EQ(layer.impl().weights_parts().at(0).group, "cell/vars");
  EXPECT_EQ(shape_after(layer, {{9, 7}}), Shape{3});
  EXPECT_EQ(shape_after(SimpleRNN({.units = 3, .return_sequences = true}), {{5, 7}}), Shape({5, 3}));
}

TEST(SimpleRnnLayer, ComputesTheOp) {
  const Tensor x = random_tensor({4, 5, 7}, 2);
  const SimpleRNN layer = built(SimpleRNN({.units = 3, .activation = Activation::softsign}), {{5, 7}});
  const RecurrentStates expected =
      simple_rnn(x, weight(layer, 0), weight(layer, 1), weight(layer, 2), {.activation = Activation::softsign});
  expect_same_bits(call(layer, {x}, training), expected.h);
}

TEST(RecurrentDropout, DrawsFactorsForAllStepsOfACall) {
  const Tensor x = random_tensor({4, 5, 7}, 2);
  const GRU layer = built(GRU({.units = 3, .dropout = 0.25}), {{5, 7}}, seed);
  const auto expected = [&](const Tensor& input) {
    return gru(input, weight(layer, 0), weight(layer, 1), weight(layer, 2));
  };
  for (std::uint64_t draw = 0; draw < 2; ++draw) {
    expect_same_bits(call(layer, {x}), expected(x));
    expect_same_bits(call(layer, {x}, training), expected(x * factors(1, 7, 0.25F, draw)));
  }
}

TEST(RecurrentDropout, OfTheStateHasFactorsForEachGate) {
  const Tensor x = random_tensor({4, 5, 7}, 2);
  const LSTM layer = built(LSTM({.units = 3, .dropout = 0.25, .recurrent_dropout = 0.5}), {{5, 7}}, seed);
  const Tensor expected = lstm(x, weight(layer, 0), weight(layer, 1), weight(layer, 2), {},
                               {.input = factors(4, 7, 0.25F, 0), .state = factors(4, 3, 0.5F, 1)})
                              .h;
  expect_same_bits(call(layer, {x}, training), expected);
}

TEST(RecurrentDropout, EveryReplicaDrawsItsOwnFactors) {
  const MirroredStrategy strategy = mirrored(2);
  const SimpleRNN layer = strategy.scope([] {
    return built(SimpleRNN({.units = 8, .recurrent_dropout = 0.5}), {{6, 2}}, seed);
  });
  const Tensor x = random_tensor({3, 6, 2}, 1);
  const auto results = strategy.run([&] { return call(layer, {x}, training).to_vector<float>(); }).local_results();
  EXPECT_NE(results[0], results[1]);
}

TEST(RecurrentDropout, RefusesARateOutsideItsRange) {
  EXPECT_ERROR(InvalidArgument, "SimpleRNN needs rates of dropout of at least 0 and below 1, got 1",
               SimpleRNN({.units = 2, .dropout = 1}));
  EXPECT_ERROR(InvalidArgument, "GRU needs rates of dropout of at least 0 and below 1, got -0.5",
               GRU({.units = 2, .recurrent_dropout = -0.5}));
}

}  // namespace
}  // namespace lockstep::test
