#include <lockstep/models/layers/activation.h>
#include <lockstep/models/layers/batch_normalization.h>
#include <lockstep/models/layers/bidirectional.h>
#include <lockstep/models/layers/dense.h>
#include <lockstep/models/layers/dropout.h>
#include <lockstep/models/layers/gru.h>
#include <lockstep/models/layers/lstm.h>
#include <lockstep/models/layers/merge.h>
#include <lockstep/models/layers/simple_rnn.h>
#include <lockstep/models/layers/time_distributed.h>
#include <lockstep/models/training/sequential.h>

#include "layer_case.h"

namespace lockstep::test {
namespace {

// Of layers that run the op, and not the same formulas composed of other ops.
const LayerCaseTraits of_lstm{.second_gradient_refusal = "gradient of lstm"};
const LayerCaseTraits of_gru{.second_gradient_refusal = "gradient of gru"};

// The models have initial weights that do not depend on a seed, because the tests compare them with models that are
// made of their configurations.

Model dense_model(std::int64_t features) {
  const Symbol x = Input({features}, "x");
  const Dense first({.units = 4, .activation = Activation::tanh, .kernel_initializer = constant(0.25)});
  const Symbol y = first(x);
  const Symbol z = Dense({.units = 4, .kernel_initializer = constant(-0.5), .kernel_regularizer = L2(0.5)})(y);
  return {x, Add()({y, z}), {.name = "dense_model"}};
}

Model lstm_model() {
  const LstmOptions options{
      .units = 3, .kernel_initializer = constant(0.25), .recurrent_initializer = constant(-0.125)};
  return Sequential({4, 2}, {ReLU(), LSTM(options)});
}

/// The rows that LSTM, GRU and SimpleRNN have in common. `op`: the traits of the first one.
template <class Recurrent>
std::vector<LayerCase> rows_of(const std::string& name, std::size_t states, const LayerCaseTraits& op) {
  const Shape steps{4, 3};
  const auto inputs_and_states = [&](std::size_t count) {
    std::vector<Shape> inputs(1 + count, Shape{2});
    inputs[0] = steps;
    return inputs;
  };
  const std::string& refusal = op.second_gradient_refusal;
  return {
      {name, [] { return Recurrent({.units = 2}); }, {steps}, op},
      {name + " backwards",
       [] { return Recurrent({.units = 2, .return_sequences = true, .go_backwards = true}); },
       {steps},
       op},
      {name + " with states", [] { return Recurrent({.units = 2, .return_sequences = true, .return_state = true}); },
       inputs_and_states(states), op},
      {name + " of another formula",
       [] {
         return Recurrent({.units = 2,
                           .return_sequences = true,
                           .return_state = true,
                           .activation = Activation::softsign,
                           .use_bias = false,
                           .recurrent_regularizer = L1(1),
                           .activity_regularizer = L2(0.5),
                           .kernel_constraint = UnitNorm(),
                           .recurrent_constraint = MaxNorm(),
                           .bias_constraint = NonNeg()});
       },
       {steps}},
      {name + " masked",
       [] { return Recurrent({.units = 2, .return_sequences = true, .return_state = true}); },
       {steps},
       {.second_gradient_refusal = refusal, .masked = true}},
      {name + " masked backwards",
       [] {
         return Recurrent({.units = 2, .return_sequences = true, .go_backwards = true, .zero_output_for_mask = true});
       },
       {steps},
       {.second_gradient_refusal = refusal, .masked = true}},
      {name + " stateful",
       [] { return Recurrent({.units = 2, .stateful = true}); },
       {steps},
       {.second_gradient_refusal = refusal, .stateful = true}},
      {name + " with dropout",
       [] { return Recurrent({.units = 2, .dropout = 0.25, .recurrent_dropout = 0.5}); },
       {steps}},
  };
}

}  // namespace

std::vector<LayerCase> recurrent_layer_cases() {
  const Shape steps{4, 3};
  std::vector<LayerCase> rows{
      {"LSTM with closed forget gates", [] { return LSTM({.units = 2, .unit_forget_bias = false}); }, {steps}, of_lstm},
      {"GRU of Keras 1",
       [] {
         return GRU({.units = 2,
                     .recurrent_activation = Activation::hard_sigmoid,
                     .reset_after = false,
                     .bias_initializer = ones,
                     .kernel_regularizer = L1(1)});
       },
       {steps}},
      {"Bidirectional", [] { return Bidirectional(LSTM({.units = 2, .return_sequences = true})); }, {steps}, of_lstm},
      {"Bidirectional sum",
       [] {
         return Bidirectional(GRU({.units = 3, .recurrent_dropout = 0.5}),
                              {.merge_mode = MergeMode::sum,
                               .backward_layer = LSTM({.units = 3, .go_backwards = true, .name = "backwards"})});
       },
       {steps},
       of_lstm},
      {"Bidirectional mul",
       [] {
         return Bidirectional(GRU({.units = 2, .return_sequences = true, .return_state = true}),
                              {.merge_mode = MergeMode::mul});
       },
       {steps, {2}, {2}},
       of_gru},
      {"Bidirectional ave",
       [] { return Bidirectional(SimpleRNN({.units = 2}), {.merge_mode = MergeMode::ave}); },
       {steps}},
      {"Bidirectional none",
       [] { return Bidirectional(GRU({.units = 2, .return_sequences = true}), {.merge_mode = MergeMode::none}); },
       {steps},
       of_gru},
      {"Bidirectional none masked",
       [] {
         return Bidirectional(GRU({.units = 2, .return_sequences = true, .return_state = true}),
                              {.merge_mode = MergeMode::none});
       },
       {steps},
       {.second_gradient_refusal = "gradient of gru", .masked = true}},
      {"Bidirectional masked",
       [] { return Bidirectional(LSTM({.units = 2, .return_sequences = true})); },
       {steps},
       {.second_gradient_refusal = "gradient of lstm", .masked = true}},
      {"Bidirectional stateful",
       [] { return Bidirectional(GRU({.units = 2, .stateful = true})); },
       {steps},
       {.second_gradient_refusal = "gradient of gru", .stateful = true}},
      {"TimeDistributed", [] { return TimeDistributed(Dense({.units = 2, .activation = Activation::tanh})); }, {steps}},
      {"TimeDistributed LSTM", [] { return TimeDistributed(Bidirectional(LSTM({.units = 3}))); }, {{3, 4, 2}}, of_lstm},
      {"TimeDistributed BatchNormalization",
       [] { return TimeDistributed(BatchNormalization()); },
       {{4, 5}},
       {.depends_on_batch = true}},
      {"TimeDistributed model", [] { return TimeDistributed(dense_model(3)); }, {steps}},
      {"TimeDistributed model with BatchNormalization",
       [] { return TimeDistributed(Sequential({5}, {BatchNormalization()})); },
       {{4, 5}},
       {.depends_on_batch = true}},
      {"TimeDistributed model with LSTM", [] { return TimeDistributed(lstm_model()); }, {{3, 4, 2}}, of_lstm},
      {"TimeDistributed Dropout", [] { return TimeDistributed(Dropout({.rate = 0.25})); }, {steps}},
      {"TimeDistributed masked", [] { return TimeDistributed(Dense({.units = 2})); }, {steps}, {.masked = true}},
  };
  for (std::vector<LayerCase>& more : std::vector{rows_of<LSTM>("LSTM", 2, of_lstm), rows_of<GRU>("GRU", 1, of_gru),
                                                  rows_of<SimpleRNN>("SimpleRNN", 1, {})})
    rows.insert(rows.end(), more.begin(), more.end());
  return rows;
}

}  // namespace lockstep::test
