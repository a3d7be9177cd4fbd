#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/array/shapes.h>
#include <lockstep/kernels/random/dropout.h>
#include <lockstep/kernels/recurrence/composed_recurrence.h>
#include <lockstep/kernels/recurrence/masked_recurrence.h>
#include <lockstep/models/layers/initializers.h>
#include <lockstep/models/layers/layer.h>
#include <lockstep/models/layers/layer_checks.h>
#include <lockstep/models/layers/layer_of.h>
#include <lockstep/models/layers/naming.h>
#include <lockstep/models/layers/random_draws.h>
#include <lockstep/models/layers/recurrent_layer.h>
#include <lockstep/models/layers/recurrent_options.h>
#include <lockstep/runtime/autograd/repeated_values.h>
#include <lockstep/runtime/autograd/tape.h>
#include <lockstep/strategy/core/strategy.h>

// The implementation of the recurrent layers LSTM, GRU and SimpleRNN.

namespace lockstep {

/// The ops of a recurrent layer; their first arguments are x, kernel, recurrent kernel and bias.
struct RecurrentOps {
  ///@{
  /// Used with Keras' defaults for activations, use_bias and reset_after, and without recurrent dropout. `usual_states`
  /// is called if there are initial states, or if the layer has a cell state c and its final states are needed;
  /// otherwise `usual` is called. The last argument is return_sequences. A layer that has only `composed` has null for
  /// both.
  Tensor (*usual)(const Tensor&, const Tensor&, const Tensor&, const Tensor&, bool);
  RecurrentStates (*usual_states)(const Tensor&, const Tensor&, const Tensor&, const Tensor&, const RecurrentStates&,
                                  bool);
  ///@}
  /// Used in all other cases.
  RecurrentStates (*composed)(const Tensor&, const Tensor&, const Tensor&, const Tensor&, const RecurrenceOptions&,
                              const RecurrentDropout&, const RecurrentStates&);
  bool has_c;  ///< whether the layer has a second state, c
};

/// A recurrent layer with the weights kernel (features, gates * units), recurrent_kernel (units, gates * units) and
/// bias. `Options` is the type of the layer's options.
template <class Options>
class RecurrentImpl final : public LayerOf<Options, RecurrentLayerImpl> {
  using Base = LayerOf<Options, RecurrentLayerImpl>;

 public:
  /// Throws InvalidArgument for units below 1 and dropout rates outside [0, 1).
  RecurrentImpl(const char* class_name, RecurrentOps ops, int gates, const Shape& bias_shape, const Options& options)
      : Base(class_name, options, {.supports_masking = true}), ops_(ops), gates_(gates), bias_shape_(bias_shape) {
    require(options.units >= 1, "{} needs at least 1 unit, got {}", class_name, options.units);
    for (const double rate : {options.dropout, options.recurrent_dropout})
      require(rate >= 0 && rate < 1, "{} needs rates of dropout of at least 0 and below 1, got {}", class_name, rate);
  }

  /// Keras stores the weights in the recurrent layer's cell, a layer that computes one time step.
  std::vector<WeightsPart> weights_parts() const override {
    return {{.group = "cell/vars", .name = snake_case(class_name_) + "_cell", .count = this->variables().size()}};
  }

  Shape output_shape(std::span<const Shape> inputs) const override {
    require(inputs.size() == 1 || inputs.size() == index(1 + states()),
            "{} takes one input, or also {} initial states, got {} inputs", class_name_, states(), inputs.size());
    const Shape& input = inputs[0];
    require(input.rank() == 2, "{} takes sequences (time, features), got {}", class_name_, input);
    for (const Shape& state : inputs.subspan(1))
      require(state == Shape{options_.units}, "{} takes initial states of {}, got {}", class_name_,
              Shape{options_.units}, state);
    require(!this->is_built() || input[1] == kernel_.shape()[0], "{} '{}' was built for {} features, got {}",
            class_name_, this->name(), this->is_built() ? kernel_.shape()[0] : 0, input);
    return options_.return_sequences ? Shape{input[0], options_.units} : Shape{options_.units};
  }

  std::vector<Shape> more_output_shapes(std::span<const Shape> /*inputs*/) const override {
    return std::vector<Shape>(options_.return_state ? index(states()) : 0, Shape{options_.units});
  }

  /// x (n, time, features) and, if given, initial states (n, units) -> (n, time, units) with return_sequences, else (n,
  /// units).
  Tensor call(std::span<const Tensor> inputs, const LayerCall& call) override {
    const RecurrentDropout dropout = call.mode == Mode::train ? draw_dropout(inputs[0]) : RecurrentDropout();
    RecurrentStates initial = inputs.size() > 1 ? RecurrentStates{.h = inputs[1]} : states_before(inputs[0].dim(0));
    if (inputs.size() > 2) initial.c = inputs[2];
    const bool penalizes_states = options_.return_state && options_.activity_regularizer && call.penalizes_result;
    const bool return_state = call.more_results != nullptr || options_.stateful || penalizes_states;
    // As in Keras 3, which passes the mask that x carries to `call` only if there is a single input.
    const Tensor mask = inputs.size() == 1 || call.has_given_masks ? call.mask(0) : Tensor();
    const MaskedRecurrenceResult result = mask.defined()
                                              ? over_unmasked(inputs[0], mask, initial, dropout, return_state)
                                              : over_all(inputs[0], initial, dropout, return_state);
    if (options_.stateful && !is_recomputing())
      own_states() = {.h = stop_gradient(result.states.h), .c = ops_.has_c ? stop_gradient(result.states.c) : Tensor()};
    if (call.more_results != nullptr) *call.more_results = {result.states.h};
    if (call.more_results != nullptr && ops_.has_c) call.more_results->push_back(result.states.c);
    if (penalizes_states) penalized(call, options_.activity_regularizer, result.states.h);
    if (penalizes_states && ops_.has_c) penalized(call, options_.activity_regularizer, result.states.c);
    return penalized(call, options_.activity_regularizer, result.y);
  }

  void reset_states() override { std::ranges::fill(states_, RecurrentStates()); }

  Tensor compute_mask(std::span<const Tensor>, std::span<const Tensor> masks) const override {
    return options_.return_sequences ? masks[0] : Tensor();
  }

  RandomDraws* random_draws() override {
    return options_.dropout > 0 || options_.recurrent_dropout > 0 ? &draws_ : nullptr;
  }

  bool go_backwards() const override { return options_.go_backwards; }
  bool return_sequences() const override { return options_.return_sequences; }
  bool return_state() const override { return options_.return_state; }
  bool stateful() const override { return options_.stateful; }
  int states() const override { return ops_.has_c ? 2 : 1; }

  std::shared_ptr<RecurrentLayerImpl> copy(std::string name, bool go_backwards) const override {
    Options options = options_;
    options.name = std::move(name);
    options.go_backwards = go_backwards;
    options.zero_output_for_mask = options.return_sequences;
    auto copy = std::make_shared<RecurrentImpl>(class_name_, ops_, gates_, bias_shape_, options);
    copy->set_trainable(this->trainable());
    copy->set_dtype_policy(this->dtype_policy());
    return copy;
  }

 private:
  static std::size_t index(int number) { return static_cast<std::size_t>(number); }

  /// The calling replica's states of a stateful layer.
  RecurrentStates& own_states() { return states_[index(std::max(current_context().replica, 0))]; }

  /// The initial states of a batch of `rows` examples; undefined tensors stand for states of 0.
  RecurrentStates states_before(std::int64_t rows) {
    if (!options_.stateful) return {};
    const RecurrentStates kept = repeated([this] { return own_states(); });
    require(!kept.h.defined() || kept.h.dim(0) == rows,
            "{} '{}' is stateful and has the states of {} examples, got a batch of {}: call reset_states() first",
            class_name_, this->name(), kept.h.defined() ? kept.h.dim(0) : 0, rows);
    return kept;
  }

  MaskedRecurrenceResult over_all(const Tensor& x, const RecurrentStates& initial, const RecurrentDropout& dropout,
                                  bool return_state) const {
    const RecurrentStates steps = over_time(x, formula(), initial, dropout, return_state);
    if (!options_.return_sequences || !return_state) return {.y = steps.h, .states = steps};
    const auto last = [&](const Tensor& all) {
      return all.defined() ? squeeze(slice(all, 1, all.dim(1) - 1, all.dim(1)), {1}) : all;
    };
    return {.y = steps.h, .states = {.h = last(steps.h), .c = last(steps.c)}};
  }

  MaskedRecurrenceResult over_unmasked(const Tensor& x, const Tensor& mask, const RecurrentStates& initial,
                                       const RecurrentDropout& dropout, bool return_state) const {
    RecurrenceOptions forward = formula();
    forward.go_backwards = false;
    forward.return_sequences = true;
    const auto in_order = [&](const Tensor& of_steps) {
      return options_.go_backwards ? flip(of_steps, {1}) : of_steps;
    };
    return masked_recurrence(
        in_order(x), in_order(mask),
        {.return_sequences = options_.return_sequences,
         .zero_output_for_mask = options_.zero_output_for_mask,
         .return_state = return_state,
         .initial = initial},
        [&](const Tensor& unmasked) { return over_time(unmasked, forward, initial, dropout, return_state); });
  }

  /// The states after the last step or, with return_sequences, after every step; c may be undefined unless `needs_c`.
  RecurrentStates over_time(Tensor x, const RecurrenceOptions& options, const RecurrentStates& initial,
                            const RecurrentDropout& dropout, bool needs_c) const {
    const RecurrenceOptions usual{.go_backwards = options.go_backwards, .return_sequences = options.return_sequences};
    if (ops_.usual == nullptr || !options_.use_bias || options != usual || dropout.state.defined())
      return ops_.composed(x, kernel_.value(), recurrent_kernel_.value(), this->value_if_any(bias_), options, dropout,
                           initial);
    if (dropout.input.defined()) x = x * dropout.input;
    if (options.go_backwards) x = flip(x, {1});
    if (initial.h.defined() || (needs_c && ops_.has_c))
      return ops_.usual_states(x, kernel_.value(), recurrent_kernel_.value(), bias_.value(), initial,
                               options.return_sequences);
    return {.h = ops_.usual(x, kernel_.value(), recurrent_kernel_.value(), bias_.value(), options.return_sequences)};
  }

  RecurrenceOptions formula() const {
    RecurrenceOptions formula{.activation = options_.activation,
                              .go_backwards = options_.go_backwards,
                              .return_sequences = options_.return_sequences};
    if constexpr (requires { options_.recurrent_activation; })
      formula.recurrent_activation = options_.recurrent_activation;
    if constexpr (requires { options_.reset_after; }) formula.reset_after = options_.reset_after;
    return formula;
  }

  /// The dropout factors for a batch x. As in Keras, the gates share the input's factors unless recurrent_dropout is
  /// above 0.
  RecurrentDropout draw_dropout(const Tensor& x) {
    const auto draw = [&](double rate, std::int64_t inputs) {
      if (rate == 0) return Tensor();
      const std::int64_t parts = options_.recurrent_dropout > 0 ? gates_ : 1;
      return dropout(Tensor::full({x.dim(0), parts, inputs}, 1), static_cast<float>(rate), draws_.next());
    };
    RecurrentDropout factors{.input = draw(options_.dropout, x.dim(2))};
    factors.state = draw(options_.recurrent_dropout, options_.units);
    return factors;
  }

  void make_weights(std::span<const Shape> inputs, const LayerSeed& seed) override {
    draws_.start(seed.key(3));
    states_.resize(get_strategy().devices().size());
    const std::int64_t sums = gates_ * options_.units;
    kernel_ = this->add_kernel({inputs[0][1], sums}, seed.key(0));
    recurrent_kernel_ = this->add_weight({.name = "recurrent_kernel",
                                          .shape = {options_.units, sums},
                                          .initializer = options_.recurrent_initializer(seed.key(1))},
                                         options_.recurrent_regularizer, options_.recurrent_constraint);
    bias_ = this->add_bias(bias_shape_, seed.key(2));
  }

  using Base::class_name_;
  using Base::options_;

  RecurrentOps ops_;
  int gates_;
  Shape bias_shape_;
  RandomDraws draws_;
  std::vector<RecurrentStates> states_;  ///< last states of a stateful layer, by replica of this process
  Variable kernel_;
  Variable recurrent_kernel_;
  Variable bias_;
};

}  // namespace lockstep
