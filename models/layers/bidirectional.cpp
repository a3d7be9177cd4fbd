#include "lockstep/models/layers/bidirectional.h"

#include <array>
#include <memory>
#include <string_view>

#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/array/elementwise.h>
#include <lockstep/kernels/array/shapes.h>
#include <lockstep/models/layers/inner_call.h>
#include <lockstep/models/layers/layer_checks.h>
#include <lockstep/models/layers/layer_config.h>
#include <lockstep/models/layers/naming.h>
#include <lockstep/models/layers/recurrent.h>

namespace lockstep {
namespace {

struct BidirectionalFileOptions {
  std::string name{};
  MergeMode merge_mode = MergeMode::concat;
  std::shared_ptr<LayerImpl> layer{};
  std::shared_ptr<LayerImpl> backward_layer{};
};

void list(LayerConfig& config, BidirectionalFileOptions& options) {
  config.choice(
      "merge_mode", options.merge_mode,
      {{"concat", MergeMode::concat}, {"sum", MergeMode::sum}, {"mul", MergeMode::mul}, {"ave", MergeMode::ave}});
  config.option("layer", options.layer, config.input_rank());
  config.option("backward_layer", options.backward_layer, config.input_rank());
}

std::shared_ptr<RecurrentLayerImpl> recurrent(const std::shared_ptr<LayerImpl>& layer) {
  auto impl = std::dynamic_pointer_cast<RecurrentLayerImpl>(layer);
  require(impl != nullptr, "Bidirectional takes a recurrent layer, LSTM, GRU or SimpleRNN, got {}",
          layer->class_name());
  return impl;
}

/// "forward_lstm" of "lstm" and of "forward_lstm".
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
  }

  std::string_view class_name() const override { return "Bidirectional"; }

  Shape output_shape(std::span<const Shape> inputs) const override {
    Shape shape = forward_->output_shape(inputs);
    const Shape other = backward_->output_shape(inputs);
    require(shape == other, "Bidirectional needs layers of the same units, got results {} and {}", shape, other);
    if (merge_mode_ == MergeMode::concat) shape[shape.rank() - 1] *= 2;
    return shape;
  }

  Tensor call(std::span<const Tensor> inputs, const LayerCall& call) override {
    const Tensor y = call_inner(*forward_, *this, inputs[0], call.mode, call.mask(0));
    const Tensor backward = call_inner(*backward_, *this, inputs[0], call.mode, call.mask(0));
    const Tensor y_reversed = backward_->return_sequences() ? flip(backward, {1}) : backward;
    switch (merge_mode_) {
      case MergeMode::concat:
        return concat(std::array{y, y_reversed}, -1);
      case MergeMode::sum:
        return y + y_reversed;
      case MergeMode::mul:
        return y * y_reversed;
      case MergeMode::ave:
        break;
    }
    return (y + y_reversed) / 2;
  }

  Tensor compute_mask(std::span<const Tensor> inputs, std::span<const Tensor> masks) const override {
    return forward_->compute_mask(inputs, masks);
  }

  void describe(LayerConfig& config) const override {
    write_options<BidirectionalFileOptions>(
        config, list, {.merge_mode = merge_mode_, .layer = forward_, .backward_layer = backward_});
  }

 private:
  void make_weights(std::span<const Shape> inputs, const LayerSeed& seed) override {
    build_inner({.group = "forward_layer", .layer = forward_}, inputs, seed);
    build_inner({.group = "backward_layer", .layer = backward_}, inputs, seed);
  }

  MergeMode merge_mode_;
  std::shared_ptr<RecurrentLayerImpl> forward_;
  std::shared_ptr<RecurrentLayerImpl> backward_;
};

}  // namespace

Bidirectional::Bidirectional(const Layer& layer, const BidirectionalOptions& options)
    : Layer(std::make_shared<BidirectionalImpl>(layer.shared(), options)) {}

Bidirectional Bidirectional::from_config(LayerConfig& config) {
  const auto options = read_options<BidirectionalFileOptions>(config, list);
  require(options.layer != nullptr, "Bidirectional needs a layer");
  BidirectionalOptions given{.merge_mode = options.merge_mode, .name = options.name};
  if (options.backward_layer) given.backward_layer.emplace(options.backward_layer);
  return Bidirectional(Layer(options.layer), given);
}

}  // namespace lockstep
