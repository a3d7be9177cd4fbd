#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/expect_error.h>
#include <support/tensors.h>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/array/comparison.h>
#include <lockstep/models/graph/attention_call.h>
#include <lockstep/models/graph/network.h>
#include <lockstep/models/layers/activation.h>
#include <lockstep/models/layers/batch_normalization.h>
#include <lockstep/models/layers/bidirectional.h>
#include <lockstep/models/layers/conv1d.h>
#include <lockstep/models/layers/dense.h>
#include <lockstep/models/layers/dot.h>
#include <lockstep/models/layers/dropout.h>
#include <lockstep/models/layers/embedding.h>
#include <lockstep/models/layers/gru.h>
#include <lockstep/models/layers/layer_normalization.h>
#include <lockstep/models/layers/lstm.h>
#include <lockstep/models/layers/masking.h>
#include <lockstep/models/layers/merge.h>
#include <lockstep/models/layers/pooling.h>
#include <lockstep/models/layers/simple_rnn.h>
#include <lockstep/models/layers/single_head_attention.h>
#include <lockstep/models/layers/time_distributed.h>

// Masks of sequences, which Masking and Embedding make and other layers use, join and pass on.

namespace lockstep::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// What `describe` makes of a masked sequence (time, features), with the same weights for every time.
template <class Describe>
Network masked_network(std::int64_t time, std::int64_t features, const Describe& describe) {
  const Symbol input = Input({time, features});
  return {input, describe(Masking()(input)), 7};
}

/// The mask of the network's output.
Tensor mask_after(const Network& network, const Tensor& x) {
  std::vector<Tensor> masks;
  network.run({x}, Mode::inference, &masks);
  return masks.at(0);
}

/// (1, time, 2): steps of zeros, and others of random numbers, as `steps` says.
Tensor sequence(const std::vector<bool>& steps) {
  const auto time = static_cast<std::int64_t>(steps.size());
  Tensor x = random_tensor({1, time, 2}, 3);
  for (std::size_t i = 0; i < 2 * steps.size(); ++i)
    if (!steps[i / 2]) x.data<float>()[i] = 0;
  return x;
}

/// The steps of x that are not masked, in their order.
Tensor unmasked(const Tensor& x, const std::vector<bool>& steps) {
  std::vector<Tensor> kept;
  for (std::size_t i = 0; i < steps.size(); ++i)
    if (steps[i]) kept.push_back(slice(x, 1, static_cast<std::int64_t>(i), static_cast<std::int64_t>(i) + 1));
  return concatenate(kept, 1);
}

const std::vector<std::vector<bool>> patterns{{true, true, false, false},
                                              {false, false, true, true},
                                              {true, false, true, false},
                                              {true, true, true, true},
                                              {false, false, true, false}};

/// Expects of a network whose result is no sequence that masked steps make no difference.
template <class Describe>
void expect_skipped_steps(const Describe& describe) {
  for (const std::vector<bool>& steps : patterns) {
    const Tensor x = sequence(steps);
    const Tensor kept = unmasked(x, steps);
    const Network whole = masked_network(x.dim(1), 2, describe);
    const Network without = masked_network(kept.dim(1), 2, describe);
    expect_close(whole(x, Mode::inference), without(kept, Mode::inference).to_vector<double>(), 16);
  }
}

TEST(Masks, RecurrentLayersSkipMaskedSteps) {
  expect_skipped_steps([](const Symbol& x) { return LSTM({.units = 3})(x); });
  expect_skipped_steps([](const Symbol& x) { return GRU({.units = 3, .reset_after = false})(x); });
  expect_skipped_steps([](const Symbol& x) { return SimpleRNN({.units = 3, .go_backwards = true})(x); });
  expect_skipped_steps([](const Symbol& x) { return Bidirectional(GRU({.units = 3}))(x); });
  expect_skipped_steps([](const Symbol& x) {
    const Symbol y = Bidirectional(LSTM({.units = 3, .return_sequences = true}))(x);
    return LSTM({.units = 2})(TimeDistributed(Dense({.units = 4}))(y));
  });
  expect_skipped_steps([](const Symbol& x) {
    const GRU layer({.units = 3, .return_sequences = true});
    const std::vector<Symbol> y = Bidirectional(layer, {.merge_mode = MergeMode::none}).results({x});
    return Concatenate()({LSTM({.units = 2})(y[0]), LSTM({.units = 2})(y[1])});
  });
}

TEST(Masks, AttentionDoesNotSeeMaskedSteps) {
  expect_skipped_steps([](const Symbol& x) {
    const Symbol y = MultiHeadAttention({.num_heads = 2, .key_dim = 3})(x, x, {.use_causal_mask = true});
    return LSTM({.units = 2})(y);
  });
  expect_skipped_steps([](const Symbol& x) {
    const GroupQueryAttention layer({.head_dim = 3, .num_query_heads = 4, .num_key_value_heads = 2});
    return LSTM({.units = 2})(layer(x, x, {.key = x}));
  });
  expect_skipped_steps([](const Symbol& x) {
    const MultiHeadAttention layer({.num_heads = 2, .key_dim = 3, .use_gate = true});
    return LSTM({.units = 2})(layer.results(x, x, {.use_causal_mask = true})[0]);
  });
  expect_skipped_steps(
      [](const Symbol& x) { return LSTM({.units = 2})(Attention()(x, x, {.use_causal_mask = true})); });
  expect_skipped_steps([](const Symbol& x) { return LSTM({.units = 2})(AdditiveAttention()(x, x)); });
}

TEST(Masks, MaskedStepsRepeatTheLastResultOrAreZero) {
  const std::vector<bool> steps{false, true, false, true, false};
  const Tensor x = sequence(steps);
  const auto of_layer = [&](bool zero) {
    return masked_network(5, 2, [&](const Symbol& input) {
      return LSTM({.units = 2, .return_sequences = true, .zero_output_for_mask = zero})(input);
    })(x, Mode::inference);
  };
  const std::vector<float> kept = of_layer(false).to_vector<float>();
  const std::vector<float> zeroed = of_layer(true).to_vector<float>();
  for (std::size_t unit = 0; unit < 2; ++unit) {
    EXPECT_EQ(kept[unit], 0) << "no step before it";
    EXPECT_NE(kept[2 + unit], 0);
    EXPECT_EQ(kept[4 + unit], kept[2 + unit]);
    EXPECT_NE(kept[6 + unit], kept[4 + unit]);
    EXPECT_EQ(kept[8 + unit], kept[6 + unit]);
    for (std::size_t i = 0; i < steps.size(); ++i)
      EXPECT_EQ(zeroed[2 * i + unit], steps[i] ? kept[2 * i + unit] : 0) << i;
  }
}

TEST(Masks, PassThroughLayersThatComputeStepByStep) {
  const auto mask = [](const auto& describe) {
    const Tensor found = mask_after(masked_network(3, 2, describe), sequence({true, false, true}));
    return found.defined() ? found.to_vector<bool>() : std::vector<bool>();
  };
  const std::vector<bool> passed{true, false, true};
  EXPECT_EQ(mask([](const Symbol& x) { return Dense({.units = 4, .activation = Activation::relu})(x); }), passed);
  EXPECT_EQ(mask([](const Symbol& x) { return Dropout({.rate = 0.5})(LayerNormalization()(ReLU()(x))); }), passed);
  EXPECT_EQ(mask([](const Symbol& x) { return TimeDistributed(Dense({.units = 4}))(x); }), passed);
  EXPECT_EQ(mask([](const Symbol& x) { return GRU({.units = 4, .return_sequences = true})(x); }), passed);
  EXPECT_EQ(mask([](const Symbol& x) { return BatchNormalization()(x); }), passed);
  EXPECT_EQ(mask([](const Symbol& x) { return GRU({.units = 4})(x); }), std::vector<bool>());
  EXPECT_EQ(mask([](const Symbol& x) { return Dot({.axes = {2, 2}})({x, x}); }), std::vector<bool>());
}

TEST(Masks, OfMergedSequencesAreJoined) {
  const Symbol a = Input({3, 1});
  const Symbol b = Input({3, 1});
  const Tensor x = Tensor::from(std::vector<float>{1, 0, 0}, {1, 3, 1});
  const Tensor y = Tensor::from(std::vector<float>{0, 2, 0}, {1, 3, 1});
  const auto run = [&](const Symbol& result) {
    const Network network({a, b}, result, 0);
    std::vector<Tensor> masks;
    const std::vector<Tensor> results = network.run({x, y}, Mode::inference, &masks);
    return std::pair(results[0].to_vector<float>(),
                     masks[0].defined() ? masks[0].to_vector<bool>() : std::vector<bool>());
  };
  const Symbol masked_a = Masking()(a);
  const Symbol masked_b = Masking()(b);
  EXPECT_THAT(run(Add()({masked_a, masked_b})).second, ElementsAre(true, true, false));
  EXPECT_THAT(run(Add()({masked_a, b})).second, ElementsAre());
  EXPECT_THAT(run(Concatenate()({masked_a, masked_b})).second, ElementsAre(true, true, false));
  EXPECT_THAT(run(Concatenate()({masked_a, b})).second, ElementsAre(true, true, true));
  EXPECT_THAT(run(Concatenate({.axis = 1})({masked_a, b})).second, ElementsAre(true, false, false, true, true, true));
  const auto [values, mask] = run(Minimum()({masked_a, masked_b}));
  EXPECT_THAT(values, ElementsAre(1, 2, 0)) << "a masked 0 is not the minimum of itself and 1";
  EXPECT_THAT(mask, ElementsAre(true, true, false));
  EXPECT_THAT(run(Multiply()({masked_a, masked_b})).first, ElementsAre(1, 2, 0));
  EXPECT_THAT(run(Multiply()({masked_a, b})).first, ElementsAre(0, 2, 0));
}

TEST(Masks, OfEmbeddingsAreWhereIdsAre0) {
  const Symbol ids = Input({4});
  const auto network = [&](bool mask_zero) {
    return Network(ids, Embedding({.input_dim = 5, .output_dim = 2, .mask_zero = mask_zero})(ids), 0);
  };
  const Tensor x = Tensor::from(std::vector<std::int64_t>{3, 0, 1, 0}, {1, 4});
  EXPECT_THAT(mask_after(network(true), x).to_vector<bool>(), ElementsAre(true, false, true, false));
  EXPECT_FALSE(mask_after(network(false), x).defined());
}

TEST(Masks, AWarningNamesALayerThatDropsThem) {
  testing::internal::CaptureStderr();
  const Network network = masked_network(
      5, 2, [](const Symbol& x) { return Conv1D({.filters = 3, .kernel_size = 2, .name = "window"})(x); });
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("layer 'window' (Conv1D) does not support the mask of its input"));
  EXPECT_FALSE(mask_after(network, sequence({true, true, false, true, false})).defined());
}

TEST(Masks, AMeanOverTimeLeavesOutMaskedSteps) {
  expect_skipped_steps([](const Symbol& x) { return GlobalAveragePooling1D()(x); });
  const Network network = masked_network(3, 2, [](const Symbol& x) { return GlobalAveragePooling1D()(x); });
  EXPECT_THAT(network(Tensor::zeros({1, 3, 2}), Mode::inference).to_vector<float>(), ElementsAre(0, 0));
}

TEST(Masks, SoftmaxGivesMaskedElementsNothing) {
  const Softmax layer;
  const Tensor x = Tensor::from(std::vector<float>{1, 2, 1, 5, 5, 5}, {2, 3});
  const Tensor mask = not_equal(Tensor::from(std::vector<float>{1, 0, 1, 0, 0, 0}, {2, 3}), 0);
  const Tensor y = layer.impl().call(std::span(&x, 1), {.masks = std::span(&mask, 1)});
  EXPECT_THAT(y.to_vector<float>(), ElementsAre(0.5, 0, 0.5, 0, 0, 0));
}

TEST(Masks, OfTimeStepsAreNoneOfElements) {
  EXPECT_ERROR(InvalidArgument,
               "Softmax 'scores' needs a mask of its input's shape, but its input has a mask of time steps",
               masked_network(3, 2, [](const Symbol& x) { return Softmax({.name = "scores"})(x); }));
  const Network network = masked_network(3, 2, [](const Symbol& x) { return ActivationLayer(Activation::softmax)(x); });
  EXPECT_EQ(mask_after(network, sequence({true, false, true})).to_vector<bool>(),
            (std::vector<bool>{true, false, true}));
}

TEST(Masks, BatchNormalizationLeavesThemOutOfItsStatistics) {
  const auto describe = [](const Symbol& x) { return ReLU()(BatchNormalization({.momentum = 0.5})(x)); };
  for (const std::vector<bool>& steps : patterns) {
    const Tensor x = sequence(steps);
    const Tensor kept = unmasked(x, steps);
    const Network whole = masked_network(x.dim(1), 2, describe);
    const Network without = masked_network(kept.dim(1), 2, describe);
    const Tensor y = whole(x, Mode::train);
    expect_close(unmasked(y, steps), without(kept, Mode::train).to_vector<double>(), 16);
    for (std::size_t i = 0; i < whole.variables().size(); ++i)
      expect_close(whole.variables()[i].value(), without.variables()[i].value().to_vector<double>(), 16);
  }
}

TEST(Masks, BatchNormalizationTrainsOnThemAlongTheLastAxis) {
  const Network network = masked_network(3, 2, [](const Symbol& x) { return BatchNormalization({.axis = 1})(x); });
  EXPECT_ERROR(Unsupported, "BatchNormalization trains on masked sequences only along the last axis",
               network(sequence({true, false, true}), Mode::train));
}

}  // namespace
}  // namespace lockstep::test
