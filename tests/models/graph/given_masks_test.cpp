#include <functional>
#include <vector>

#include <gtest/gtest.h>
#include <support/expect_error.h>
#include <support/tensors.h>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/array/array.h>
#include <lockstep/models/graph/attention_call.h>
#include <lockstep/models/graph/network.h>
#include <lockstep/models/layers/activation.h>
#include <lockstep/models/layers/batch_normalization.h>
#include <lockstep/models/layers/bidirectional.h>
#include <lockstep/models/layers/dense.h>
#include <lockstep/models/layers/gru.h>
#include <lockstep/models/layers/lstm.h>
#include <lockstep/models/layers/masking.h>
#include <lockstep/models/layers/pooling.h>
#include <lockstep/models/layers/reshape.h>
#include <lockstep/models/layers/simple_rnn.h>
#include <lockstep/models/layers/single_head_attention.h>
#include <lockstep/models/layers/time_distributed.h>
#include <lockstep/models/training/model.h>

// Masks that calls of layers are given as arguments.

namespace lockstep::test {
namespace {

constexpr std::int64_t time = 5;

/// The results and masks of a network's outputs.
struct Results {
  std::vector<Tensor> values;
  std::vector<Tensor> masks;
};

Results run(const Network& network, const std::vector<Tensor>& xs) {
  Results results;
  results.values = network.run(xs, Mode::inference, &results.masks);
  return results;
}

void expect_same(const Results& some, const Results& others) {
  ASSERT_EQ(some.values.size(), others.values.size());
  for (std::size_t i = 0; i < some.values.size(); ++i) {
    expect_same_bits(some.values[i], others.values[i]);
    ASSERT_EQ(some.masks[i].defined(), others.masks[i].defined());
    if (!some.masks[i].defined()) continue;
    EXPECT_EQ(some.masks[i].to_vector<bool>(), others.masks[i].to_vector<bool>());
  }
}

/// Random sequences (3, time, 2), which are 0 where `marks` are.
Tensor sequences(const Tensor& marks) {
  Tensor x = random_tensor({3, time, 2}, 3);
  for (std::size_t i = 0; i < x.span<float>().size(); ++i)
    if (marks.span<float>()[i / 2] == 0) x.span<float>()[i] = 0;
  return x;
}

const Tensor marks = Tensor::from<float>({1, 0, 2, 0.25, 0, 0, 0, 1, 0, 3, 1, 1, 1, 1, 1}, {3, time});

/// The results of a call on a sequence with a mask.
using Call = std::function<std::vector<Symbol>(const Symbol& x, const CallMasks& masks)>;

/// Expects that a call computes the same whether it is given masks, or its input carries them.
void expect_as_carried(const Call& call) {
  const Symbol x = Input({time, 2});
  const Symbol mask = Input({time});
  const Network given({x, mask}, call(x, {mask}), 7);
  const Network carried({x}, call(Masking()(x), {}), 7);
  const Tensor values = sequences(marks);
  for (const DType dtype : {DType::f32, DType::boolean, DType::i64}) {
    const Tensor of_dtype = dtype == DType::i64 ? cast(marks * 4, dtype) : cast(marks, dtype);
    expect_same(run(given, {values, of_dtype}), run(carried, {values}));
  }
}

TEST(GivenMasks, AreReadAsThoseThatInputsCarry) {
  const auto expect = [](const Layer& layer) {
    expect_as_carried([&](const Symbol& x, const CallMasks& masks) { return layer.results({x}, masks); });
  };
  expect(LSTM({.units = 3, .return_sequences = true, .return_state = true}));
  expect(GRU({.units = 3, .go_backwards = true, .reset_after = false}));
  expect(SimpleRNN({.units = 3, .return_sequences = true}));
  expect(Bidirectional(GRU({.units = 3, .return_sequences = true}), {.merge_mode = MergeMode::none}));
  expect(TimeDistributed(Dense({.units = 3})));
  expect(BatchNormalization());
  expect(GlobalAveragePooling1D());
}

TEST(GivenMasks, OfAttentionAreThoseOfQueryAndValue) {
  for (const AttentionLayer& layer : std::vector<AttentionLayer>{Attention(), AdditiveAttention()})
    expect_as_carried([&](const Symbol& x, const CallMasks& masks) {
      if (masks.empty()) return layer.results(x, x, {});
      return layer.results(x, x, {.query_mask = masks[0], .value_mask = masks[0]});
    });
  const Symbol query = Input({time, 2}, "query");
  const Symbol value = Input({4, 2}, "value");
  const Symbol mask = Input({4}, "mask");
  const Tensor of_value = Tensor::from<float>({1, 0, 0, 0, 0, 1, 1, 0, 1, 1, 1, 1}, {3, 4});
  const std::vector<Tensor> xs{random_tensor({3, time, 2}, 1), random_tensor({3, 4, 2}, 2), of_value};
  const Tensor of_scores = reshape(of_value, {3, 1, 4});
  const auto results = [&](const AttentionLayer& layer, const AttentionCall& call) {
    return run(Network({query, value, mask}, layer(query, value, call), 7), xs);
  };
  const auto as_attention_mask = [&](const AttentionLayer& layer) {
    const Symbol whole = Input({1, 4}, "whole");
    const Network network({query, value, whole}, layer(query, value, {.attention_mask = whole}), 7);
    return run(network, {xs[0], xs[1], of_scores});
  };
  const MultiHeadAttention heads({.num_heads = 2, .key_dim = 3});
  const GroupQueryAttention groups({.head_dim = 3, .num_query_heads = 4, .num_key_value_heads = 2});
  for (const AttentionLayer& layer : std::vector<AttentionLayer>{heads, groups}) {
    const Results masked = as_attention_mask(layer);
    expect_same(results(layer, {.value_mask = mask}), masked);
    expect_same(results(layer, {.key_mask = mask}), masked);
    expect_same(results(layer, {.key = value, .value_mask = mask}), masked);
  }
  const Symbol of_query = Input({time}, "of_query");
  const Network given({query, value, of_query}, groups(query, value, {.query_mask = of_query}), 7);
  const Network carried({query, value}, groups(Masking()(query), value), 7);
  const Tensor masked_query = sequences(marks);
  const Results found = run(given, {masked_query, xs[1], marks});
  expect_same_bits(found.values[0], run(carried, {masked_query, xs[1]}).values[0]);
  EXPECT_FALSE(found.masks[0].defined()) << "as in Keras, the result has the mask that the query carries";
}

TEST(GivenMasks, ReplaceThoseThatInputsCarry) {
  const Symbol x = Input({time, 2});
  const Symbol mask = Input({time});
  const Tensor others = Tensor::from<float>({0, 1, 0, 1, 1, 1, 1, 0, 0, 0, 0, 0, 1, 0, 1}, {3, time});
  const Symbol masked = Masking()(x);
  const Symbol same = Masking({.mask_value = 9})(x);
  const LSTM lstm({.units = 3, .return_sequences = true});
  const Results given = run(Network({x, mask}, lstm({masked}, {mask}), 7), {sequences(marks), others});
  expect_same(given, run(Network({x, mask}, lstm({x}, {mask}), 7), {sequences(marks), others}));
  EXPECT_EQ(given.masks[0].to_vector<bool>(), cast(others, DType::boolean).to_vector<bool>());
  const Attention attention;
  const CallMasks only_value{std::nullopt, mask};
  expect_same(run(Network({x, mask}, attention({masked, masked}, only_value), 7), {sequences(marks), others}),
              run(Network({x, mask}, attention({x, x}, only_value), 7), {sequences(marks), others}));
  const MultiHeadAttention heads({.num_heads = 2, .key_dim = 3});
  expect_same(run(Network({x, mask}, heads(masked, masked, {.value_mask = mask}), 7), {sequences(marks), others}),
              run(Network({x, mask}, heads(masked, x, {.value_mask = mask}), 7), {sequences(marks), others}));
  const Symbol by_attention_mask =
      heads(masked, masked, {.attention_mask = Reshape({.target_shape = {1, time}})(mask), .value_mask = mask});
  expect_same(run(Network({x, mask}, by_attention_mask, 7), {sequences(marks), others}),
              run(Network({x, mask}, heads(masked, masked, {.value_mask = mask}), 7), {sequences(marks), others}));
}

TEST(GivenMasks, AreReadBesideInitialStates) {
  const Symbol x = Input({time, 2});
  const Symbol h = Input({3});
  const Symbol c = Input({3});
  const Symbol mask = Input({time});
  const Symbol kept = Input({2, 2});
  const Tensor steps = random_tensor({1, time, 2}, 5);
  const std::vector<Tensor> states{random_tensor({1, 3}, 6), random_tensor({1, 3}, 8)};
  const Tensor of_steps = Tensor::from<float>({0, 1, 0, 1, 0}, {1, time});
  const Tensor unmasked = concatenate(std::vector{slice(steps, 1, 1, 2), slice(steps, 1, 3, 4)}, 1);
  for (const Layer& layer : std::vector<Layer>{LSTM({.units = 3, .return_state = true}),
                                               Bidirectional(SimpleRNN({.units = 3, .return_state = true}))}) {
    const Network given({x, h, c, mask}, layer.results({x, h, c}, {mask}), 7);
    const Network without({kept, h, c}, layer.results({kept, h, c}), 7);
    const std::vector<Tensor> ours = given.run({steps, states[0], states[1], of_steps}, Mode::inference);
    const std::vector<Tensor> theirs = without.run({unmasked, states[0], states[1]}, Mode::inference);
    for (std::size_t i = 0; i < ours.size(); ++i) expect_close(ours[i], theirs[i].to_vector<double>(), 16);
  }
}

TEST(GivenMasks, AreThoseOfAModelInAModel) {
  const Symbol x = Input({time, 2});
  const Symbol mask = Input({time});
  const LSTM lstm({.units = 3, .return_sequences = true});
  const Model inner({x, mask}, lstm({Dense({.units = 4})(x)}, {ReLU()(mask)}));
  const Symbol outer_x = Input({time, 2});
  const Symbol outer_mask = Input({time});
  const Model outer({outer_x, outer_mask}, inner(std::vector{outer_x, outer_mask}));
  const std::vector<Tensor> xs{sequences(marks), marks};
  expect_same(run(outer.network(), xs), run(inner.network(), xs));
}

TEST(GivenMasks, MayHaveUnknownSizes) {
  const Symbol x = Input({-1, 2});
  const Symbol mask = Input({-1});
  const Symbol known_x = Input({time, 2});
  const Symbol known_mask = Input({time});
  const GRU layer({.units = 3});
  const std::vector<Tensor> xs{sequences(marks), marks};
  expect_same(run(Network({x, mask}, layer({x}, {mask}), 7), xs),
              run(Network({known_x, known_mask}, layer({known_x}, {known_mask}), 7), xs));
}

TEST(GivenMasks, MustFitTheirInputs) {
  const Symbol x = Input({time, 2});
  const Symbol mask = Input({time});
  const LSTM lstm({.units = 3});
  EXPECT_ERROR(InvalidArgument, "a call of LSTM on (5, 2) needs a mask of the first axes of that shape, got (4)",
               lstm({x}, {Input({4})}));
  EXPECT_ERROR(InvalidArgument, "a call of LSTM on (5, 2) needs a mask of the first axes of that shape, got ()",
               lstm({x}, {Input({})}));
  EXPECT_ERROR(InvalidArgument, "a call of LSTM on 1 inputs is given 2 masks", lstm({x}, {mask, mask}));
  EXPECT_ERROR(InvalidArgument, "a call of Dense has no argument mask", Dense({.units = 3})({x}, {mask}));
  EXPECT_ERROR(InvalidArgument, "a call of Softmax has the mask as its second input, not as an argument mask",
               Softmax()({x}, {mask}));
  EXPECT_ERROR(InvalidArgument,
               "a call of MultiHeadAttention takes no query_mask, which Keras ignores: give an attention_mask",
               MultiHeadAttention({.num_heads = 2, .key_dim = 3})(x, x, {.query_mask = mask}));
  EXPECT_ERROR(InvalidArgument, "a call of Attention takes no key_mask: it masks keys by the value_mask",
               Attention()(x, x, {.key_mask = mask}));
}

}  // namespace
}  // namespace lockstep::test
