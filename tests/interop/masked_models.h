#pragma once

#include <optional>
#include <vector>

#include <lockstep/models/graph/attention_call.h>
#include <lockstep/models/graph/symbol_operations.h>
#include <lockstep/models/layers/keras_layers.h>
#include <lockstep/models/training/sequential.h>

// The models of layers_interop.py with attention masks, masked time steps, states of recurrent layers, and layers and
// models inside layers.

namespace lockstep {

inline Model attention_model() {
  const Symbol queries = Input({6, 8});
  const Symbol values = Input({5, 8});
  const Symbol marks = Input({6, 5});
  const Symbol mask = ReLU()(marks);
  const Symbol x =
      MultiHeadAttention({.num_heads = 2, .key_dim = 3, .value_dim = 5})(queries, queries, {.use_causal_mask = true});
  const Symbol y = MultiHeadAttention({.num_heads = 3, .key_dim = 4, .dropout = 0.25, .output_shape = Shape{8}})(
      x, values, {.attention_mask = mask});
  const GroupQueryAttention groups({.head_dim = 5, .num_query_heads = 4, .num_key_value_heads = 2, .use_bias = false});
  const Symbol z = groups(y, values, {.key = values, .attention_mask = mask, .use_causal_mask = true});
  return {{queries, values, marks}, Dense({.units = 3})(Flatten()(Add()({x, z})))};
}

inline Model attention_options_model() {
  const Symbol sequence = Input({6, 8});
  const Symbol pictures = Input({4, 3, 8});
  const Symbol masked = Masking({.mask_value = 0})(ReLU()(sequence));
  const MultiHeadAttention heads({.num_heads = 2, .key_dim = 3, .sliding_window = 3, .use_gate = true});
  const std::vector<Symbol> x = heads.results(sequence, Masking({.mask_value = 0})(masked), {.use_causal_mask = true});
  const GroupQueryAttention groups({.head_dim = 5,
                                    .num_query_heads = 4,
                                    .num_key_value_heads = 2,
                                    .use_bias = false,
                                    .sliding_window = 2,
                                    .use_gate = true});
  const std::vector<Symbol> y = groups.results(x[0], masked, {});
  const Symbol causal = Attention()(masked, y[0], {.use_causal_mask = true});
  const Symbol sums = Attention({.use_scale = true, .score_mode = ScoreMode::concat})(causal, y[0]);
  const std::vector<Symbol> z = AdditiveAttention().results(sums, masked, {.key = x[0]});
  const Symbol a =
      MultiHeadAttention({.num_heads = 2, .key_dim = 3, .attention_axes = {2}, .use_gate = true})(pictures, pictures);
  const Symbol b = MultiHeadAttention({.num_heads = 2, .key_dim = 3})(a, pictures);
  const Symbol c = MultiHeadAttention(
      {.num_heads = 2, .key_dim = 3, .output_shape = Shape{2, 2}, .attention_axes = {-3}, .sliding_window = 2})(b, a);
  std::vector<Symbol> results;
  for (const Symbol& result : {z[0], x[1], y[1], z[1], c}) results.push_back(Flatten()(result));
  return {{sequence, pictures}, Dense({.units = 3})(Concatenate()(results))};
}

inline Model wrapped_model() {
  const Symbol sequence = Input({6, 4});
  Symbol x = Bidirectional(LSTM({.units = 3, .return_sequences = true}))(sequence);
  x = TimeDistributed(Dense({.units = 8, .activation = Activation::tanh}))(x);
  const SimpleRNN backward({.units = 4, .return_sequences = true, .go_backwards = true});
  x = Bidirectional(GRU({.units = 4, .return_sequences = true}),
                    {.merge_mode = MergeMode::sum, .backward_layer = backward})(x);
  x = TimeDistributed(BatchNormalization())(x);
  x = Bidirectional(SimpleRNN({.units = 8, .return_sequences = true, .activation = Activation::softsign}),
                    {.merge_mode = MergeMode::mul})(x);
  x = TimeDistributed(Reshape({.target_shape = {4, 2}}))(x);
  x = TimeDistributed(Bidirectional(LSTM({.units = 3}), {.merge_mode = MergeMode::ave}))(x);
  x = Bidirectional(GRU({.units = 2, .dropout = 0.25, .recurrent_dropout = 0.5}))(x);
  const Bidirectional unmerged(GRU({.units = 3, .return_sequences = true}), {.merge_mode = MergeMode::none});
  const Symbol both = Flatten()(Subtract()(unmerged.results({sequence})));
  const Symbol pixels = Input({2, 2});
  const Symbol left = Dense({.units = 3, .activation = Activation::tanh})(pixels);
  const Model encoder(pixels, Flatten()(Add()({left, BatchNormalization()(left)})), {.name = "encoder"});
  Symbol encoded = TimeDistributed(encoder)(Reshape({.target_shape = {6, 2, 2}})(sequence));
  encoded = TimeDistributed(Sequential({6}, {Dense({.units = 4}), Dense({.units = 2})}))(encoded);
  return {sequence, Concatenate()({x, both, Flatten()(encoded)})};
}

inline Model masked_model() {
  const Symbol sequence = Input({7, 2});
  const Symbol masked = Masking({.mask_value = 0})(ReLU()(sequence));
  const Symbol a = LSTM({.units = 4, .return_sequences = true})(masked);
  const Symbol b = Bidirectional(GRU({.units = 3, .return_sequences = true}))(masked);
  const Symbol c = Concatenate()({a, b});
  const Symbol d = MultiHeadAttention({.num_heads = 2, .key_dim = 3})(c, c);
  const Symbol e = LayerNormalization()(Dropout({.rate = 0.25})(Add()({c, d})));
  const Symbol f = TimeDistributed(Dense({.units = 10, .activation = Activation::tanh}))(e);
  const Symbol g = LSTM({.units = 10, .return_sequences = true, .zero_output_for_mask = true})(masked);
  const Symbol h = SimpleRNN({.units = 4, .go_backwards = true})(Maximum()({f, g}));
  const Symbol both = Concatenate({.axis = 1})({masked, sequence});
  const Symbol mean = GlobalAveragePooling1D()(Masking()(both));
  const Bidirectional unmerged(GRU({.units = 2, .return_sequences = true}), {.merge_mode = MergeMode::none});
  const std::vector<Symbol> directions = unmerged.results({masked});
  const Symbol words = Masking()(Reshape({.target_shape = {7, 2, 1}})(ReLU()(sequence)));
  const Sequential reader({2, 1}, {Dense({.units = 3}), LSTM({.units = 2})});
  const Symbol read = Flatten()(TimeDistributed(reader)(words));
  const Symbol forward = LSTM({.units = 2})(directions[0]);
  const Symbol backward = LSTM({.units = 3})(directions[1]);
  const Symbol all = Concatenate()({h, GRU({.units = 4})(both), mean, forward, backward, read});
  return {sequence, Dense({.units = 3})(all)};
}

inline Model masked_merges_model() {
  const Symbol first = Input({6, 2});
  const Symbol second = Input({6, 2});
  const Symbol ids = Input({6});
  const Symbol a = Masking({.mask_value = 0})(ReLU()(first));
  const Symbol b = Masking({.mask_value = 0})(ReLU()(second));
  const std::vector<Layer> merges{Add(), Average(), Concatenate(), Maximum(), Minimum(), Multiply(), Subtract()};
  std::vector<Symbol> ends;
  for (const Layer& merge : merges) ends.push_back(LSTM({.units = 2})(merge({a, b})));
  Symbol x = Embedding({.input_dim = 9, .output_dim = 4, .mask_zero = true})(ids);
  const std::vector<Layer> steps{ActivationLayer(Activation::tanh),
                                 ActivityRegularization({.l1 = 0.5}),
                                 AlphaDropout({.rate = 0.25}),
                                 BatchNormalization(),
                                 Dense({.units = 4}),
                                 Dropout({.rate = 0.25}),
                                 ELU(),
                                 GaussianDropout({.rate = 0.25}),
                                 GaussianNoise({.stddev = 0.25}),
                                 GroupNormalization({.groups = 2}),
                                 Identity(),
                                 LayerNormalization(),
                                 LeakyReLU(),
                                 Normalization({.mean = {0.5}, .variance = {4}}),
                                 PReLU(),
                                 ReLU(),
                                 Rescaling({.scale = {2}, .offset = {0.25}}),
                                 SpatialDropout1D({.rate = 0.25}),
                                 TimeDistributed(Dense({.units = 4})),
                                 UnitNormalization()};
  for (const Layer& step : steps) x = step(x);
  ends.push_back(GRU({.units = 3})(x));
  ends.push_back(Flatten()(Dot({.axes = {2}})({a, b})));
  ends.push_back(GlobalAveragePooling1D()(x));
  return {{first, second, ids}, Dense({.units = 3})(Concatenate()(ends))};
}

/// Calls that are given masks, also where their inputs carry others.
inline Model given_masks_model() {
  const Symbol ids = Input({6});
  const Symbol key_ids = Input({5});
  const Symbol marks = Input({6});
  const Symbol key_marks = Input({5});
  const Symbol large = operation("Greater", {marks}, "{}", R"([{"tensor": 0}, 4])");
  const Symbol words = Embedding({.input_dim = 9, .output_dim = 4, .mask_zero = true})(ids);
  const Symbol keys = Embedding({.input_dim = 9, .output_dim = 4})(key_ids);
  const Symbol a = LSTM({.units = 4, .return_sequences = true})({words}, {marks});
  const Symbol b = Bidirectional(GRU({.units = 3}))({words}, {large});
  const Symbol state = GRU({.units = 4})({keys}, {key_marks});
  const Symbol c = SimpleRNN({.units = 4})({a, state}, {large});
  const Symbol d = Attention()({a, keys}, {std::nullopt, key_marks});
  const Symbol e = AdditiveAttention()(a, keys, {.query_mask = marks, .value_mask = key_marks});
  const Symbol f = MultiHeadAttention({.num_heads = 2, .key_dim = 3})(a, keys, {.value_mask = key_marks});
  const GroupQueryAttention groups({.head_dim = 3, .num_query_heads = 4, .num_key_value_heads = 2});
  const Symbol g = groups(words, keys, {.key = keys, .query_mask = large, .key_mask = key_marks});
  std::vector<Symbol> ends{b, c, GlobalAveragePooling1D()({e}, {large})};
  for (const Symbol& sequence : {d, f, g}) ends.push_back(Flatten()(sequence));
  return {{ids, key_ids, marks, key_marks}, Dense({.units = 3})(Concatenate()(ends))};
}

inline Model seq2seq_model() {
  const Symbol source = Input({5, 3});
  const Symbol target = Input({4, 2});
  const Symbol masked = Masking({.mask_value = 0})(ReLU()(source));
  const Bidirectional encoder(LSTM({.units = 3, .return_sequences = true, .return_state = true}));
  const std::vector<Symbol> encoded = encoder.results({masked});
  const Symbol h = Concatenate()({encoded[1], encoded[3]});
  const Symbol c = Concatenate()({encoded[2], encoded[4]});
  const Symbol decoded = LSTM({.units = 6, .return_sequences = true, .return_state = true})({target, h, c});
  const std::vector<Symbol> summary = GRU({.units = 6, .return_state = true}).results({encoded[0]});
  const Symbol reversed = SimpleRNN({.units = 6, .go_backwards = true})({encoded[0], summary[0]});
  const Symbol last = Bidirectional(GRU({.units = 6}))({decoded, summary[1], reversed});
  return {{source, target}, Dense({.units = 3})(last)};
}

}  // namespace lockstep
