#include "lockstep/models/layers/bidirectional.h"

#include <algorithm>
#include <array>
#include <memory>
#include <string_view>
#include <vector>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/array/shapes.h>
#include <lockstep/models/layers/inner_call.h>
#include <lockstep/models/layers/layer_checks.h>
#include <lockstep/models/layers/layer_config.h>
#include <lockstep/models/layers/naming.h>
#include <lockstep/models/layers/recurrent_layer.h>

namespace lockstep {
namespace {

struct BidirectionalFileOptions {
  std::string name{};
  MergeMode merge_mode = MergeMode::concat;
  std::shared_ptr<LayerImpl> layer{};
  std::shared_ptr<LayerImpl> backward_layer{};

  void describe(LayerConfig& config) {
    if (config.is_null("merge_mode")) merge_mode = MergeMode::none;
    if (merge_mode == MergeMode::none)
      config.fixed_null("merge_mode");
    else
      config.choice(
          "merge_mode", merge_mode,
          {{"concat", MergeMode::concat}, {"sum", MergeMode::sum}, {"mul", MergeMode::mul}, {"ave", MergeMode::ave}});
    config.option("layer", layer, config.input_rank());
    config.option("backward_layer", backward_layer, config.input_rank());
  }
};

std::shared_ptr<RecurrentLayerImpl> recurrent(const std::shared_ptr<LayerImpl>& layer) {
  auto impl = std::dynamic_pointer_cast<RecurrentLayerImpl>(layer);
  require(impl != nullptr, "Bidirectional takes a recurrent layer, LSTM, GRU or SimpleRNN, got {}",
          layer->class_name());
  return impl;
}

/// "forward_lstm" both for "lstm" and for "forward_lstm".
std::string with_prefix(const std::string& prefix, const LayerImpl& layer) {
  const std::string name = layer.name().empty() ? snake_case(layer.class_name()) : layer.name();
  return name.starts_with(prefix) ? name : prefix + name;
}

class BidirectionalImpl final : public LayerImpl {
 public:
  BidirectionalImpl(const std::shared_ptr<LayerImpl>& layer, const BidirectionalOptions& options)
      : LayerImpl(options.name, {.supports_masking = true}), merge_mode_(options.merge_mode) {
    const auto given = recurrent(layer);
    forward_ = given->copy(with_prefix("forward_", *given), given->go_backwards());
    const auto own = options.backward_layer ? recurrent(options.backward_layer->shared()) : nullptr;
    backward_ = own ? own->copy(own->name(), own->go_backwards()) : given->copy(with_prefix("backward_", *given), true);
    require(forward_->go_backwards() != backward_->go_backwards(),
            "Bidirectional needs layers of opposite directions, got two with go_backwards = {}",
            forward_->go_backwards());
    require(forward_->return_sequences() == backward_->return_sequences(),
            "Bidirectional needs layers of equal return_sequences, got {} and {}", forward_->return_sequences(),
            backward_->return_sequences());
    require(forward_->return_state() == backward_->return_state(),
            "Bidirectional needs layers of equal return_state, got {} and {}", forward_->return_state(),
            backward_->return_state());
    require(forward_->stateful() == backward_->stateful(),
            "Bidirectional needs layers of equal stateful, got {} and {}", forward_->stateful(), backward_->stateful());
  }

  std::string_view class_name() const override { return "Bidirectional"; }

  Shape output_shape(std::span<const Shape> inputs) const override {
    const int states = forward_->states() + backward_->states();
    require(inputs.size() == 1 || inputs.size() == 1 + static_cast<std::size_t>(states),
            "Bidirectional takes one input, or also {} initial states, got {} inputs", states, inputs.size());
    Shape shape = forward_->output_shape(of_direction(inputs, true));
    const Shape other = backward_->output_shape(of_direction(inputs, false));
    require(shape == other, "Bidirectional needs layers of the same units, got results {} and {}", shape, other);
    if (merge_mode_ == MergeMode::concat) shape[shape.rank() - 1] *= 2;
    return shape;
  }

  std::vector<Shape> more_output_shapes(std::span<const Shape> inputs) const override {
    std::vector<Shape> shapes;
    if (merge_mode_ == MergeMode::none) shapes.push_back(backward_->output_shape(of_direction(inputs, false)));
    for (const Shape& shape : forward_->more_output_shapes(of_direction(inputs, true))) shapes.push_back(shape);
    for (const Shape& shape : backward_->more_output_shapes(of_direction(inputs, false))) shapes.push_back(shape);
    return shapes;
  }

  Tensor call(std::span<const Tensor> inputs, const LayerCall& call) override {
    const bool returns_states = call.more_results != nullptr && forward_->return_state();
    std::vector<Tensor> states;
    std::vector<Tensor> backward_states;
    LayerCall inner{.mode = call.mode,
                    .has_given_masks = call.has_given_masks,
                    .masks = call.masks.first(std::min<std::size_t>(call.masks.size(), 1))};
    if (returns_states) inner.more_results = &states;
    const Tensor y = call_inner(*forward_, *this, of_direction(inputs, true), inner);
    if (returns_states) inner.more_results = &backward_states;
    const Tensor backward = call_inner(*backward_, *this, of_direction(inputs, false), inner);
    const Tensor y_reversed = backward_->return_sequences() ? flip(backward, {1}) : backward;
    if (call.more_results != nullptr) {
      call.more_results->clear();
      if (merge_mode_ == MergeMode::none) call.more_results->push_back(y_reversed);
      for (const auto* part : {&states, &backward_states})
        call.more_results->insert(call.more_results->end(), part->begin(), part->end());
    }
    return merged(y, y_reversed);
  }

  Tensor compute_mask(std::span<const Tensor> inputs, std::span<const Tensor> masks) const override {
    return forward_->compute_mask(inputs, masks);
  }

  bool has_mask(int result) const override { return result == 0 || (result == 1 && merge_mode_ == MergeMode::none); }

  void describe(LayerConfig& config) const override {
    write_options(config,
                  BidirectionalFileOptions{.merge_mode = merge_mode_, .layer = forward_, .backward_layer = backward_});
  }

 private:
  /// The first result.
  Tensor merged(const Tensor& y, const Tensor& y_reversed) const {
    switch (merge_mode_) {
      case MergeMode::concat:
        return concatenate(std::array{y, y_reversed}, -1);
      case MergeMode::sum:
        return y + y_reversed;
      case MergeMode::mul:
        return y * y_reversed;
      case MergeMode::ave:
        return (y + y_reversed) / 2;
      case MergeMode::none:
        break;
    }
    return y;
  }

  /// The sequences and, if given, the initial states of one direction. In `inputs`, the forward layer's states come
  /// first.
  template <class Input>
  std::vector<Input> of_direction(std::span<const Input> inputs, bool forward) const {
    std::vector<Input> own{inputs[0]};
    const auto states = inputs.subspan(1);
    const std::size_t first = std::min(states.size(), static_cast<std::size_t>(forward_->states()));
    const auto part = forward ? states.first(first) : states.subspan(first);
    own.insert(own.end(), part.begin(), part.end());
    return own;
  }

  void make_weights(std::span<const Shape> inputs, const LayerSeed& seed) override {
    build_inner({.group = "forward_layer", .layer = forward_}, of_direction(inputs, true), seed);
    build_inner({.group = "backward_layer", .layer = backward_}, of_direction(inputs, false), seed);
  }

  MergeMode merge_mode_;
  std::shared_ptr<RecurrentLayerImpl> forward_;
  std::shared_ptr<RecurrentLayerImpl> backward_;
};

}  // namespace

Bidirectional::Bidirectional(const Layer& layer, const BidirectionalOptions& options)
    : Layer(std::make_shared<BidirectionalImpl>(layer.shared(), options)) {}

Bidirectional Bidirectional::from_config(LayerConfig& config) {
  const auto options = read_options<BidirectionalFileOptions>(config);
  require(options.layer != nullptr, "Bidirectional needs a layer");
  BidirectionalOptions given{.merge_mode = options.merge_mode, .name = options.name};
  if (options.backward_layer) given.backward_layer.emplace(options.backward_layer);
  return Bidirectional(Layer(options.layer), given);
}

}  // namespace lockstep
