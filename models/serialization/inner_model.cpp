#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <lockstep/models/config/object_config.h>
#include <lockstep/models/graph/keras_order.h>
#include <lockstep/models/graph/network.h>
#include <lockstep/models/graph/unknown_sizes.h>
#include <lockstep/models/layers/inner_model.h>
#include <lockstep/models/layers/layer_checks.h>
#include <lockstep/models/layers/recurrent_layer.h>
#include <lockstep/models/serialization/network_config.h>
#include <lockstep/models/serialization/parsed_model.h>
#include <lockstep/models/serialization/symbolic_model.h>
#include <lockstep/models/serialization/weights_h5.h>

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;
/// Symbols by their numbers, so that each call is after those that it reads.
using Calls = std::map<std::uint64_t, Symbol>;

/// The calls between the input, which may be the result of another layer, and the outputs.
Calls calls_for(const std::vector<Symbol>& inputs, const std::vector<Symbol>& outputs) {
  Calls calls;
  std::vector<Symbol> left = outputs;
  while (!left.empty()) {
    const Symbol symbol = left.back();
    left.pop_back();
    const std::uint64_t number = symbol.node().number;
    const bool is_input = std::ranges::any_of(inputs, [&](const Symbol& in) { return in.node().number == number; });
    if (is_input || !calls.emplace(number, symbol).second) continue;
    for (const auto* more : {&symbol.node().inputs, &symbol.node().unread})
      left.insert(left.end(), more->begin(), more->end());
  }
  return calls;
}

LayerTraits traits_of(const Calls& calls) {
  LayerTraits traits{.can_compute_in_bf16 = true, .can_be_captured = true, .supports_masking = true};
  for (const auto& [number, symbol] : calls) {
    const LayerTraits& own = symbol.node().layer->traits();
    traits.can_be_captured = traits.can_be_captured && own.can_be_captured;
    traits.looks_up_rows = traits.looks_up_rows || own.looks_up_rows;
  }
  return traits;
}

/// The seed of the layers of a model in the place of a layer with the seed `seed`.
std::uint64_t model_seed(const LayerSeed& seed) {
  return seed.seed + (seed.key(0).stream + std::uint64_t{1}) * 0x9e3779b97f4a7c15U;
}

class InnerModelImpl final : public LayerImpl {
 public:
  InnerModelImpl(std::string name, std::string class_name, const std::vector<Symbol>& inputs,
                 const std::vector<Symbol>& outputs)
      : InnerModelImpl(std::move(name), std::move(class_name), inputs, outputs, calls_for(inputs, outputs)) {
    set_dtype_policy(DTypePolicy::float32);  // the model's layers cast their inputs themselves
    require(inputs.size() == 1 && outputs.size() == 1,
            "model '{}' has {} inputs and {} outputs; a model inside a layer needs one of each", this->name(),
            inputs.size(), outputs.size());
    for (const auto& [number, symbol] : calls_)
      require(!is_stateful(*symbol.node().layer),
              "layer '{}' of model '{}' is stateful, which layers of a model inside a layer cannot be",
              symbol.node().layer->name(), this->name());
  }

  /// A model that is built.
  InnerModelImpl(const Network& network, const NestedModel& model)
      : InnerModelImpl(model.name, model.class_name, network.input_symbols(), network.output_symbols()) {
    set_network(network);
  }

  std::string_view class_name() const override { return class_name_; }

  Shape output_shape(std::span<const Shape> inputs) const override {
    const Shape& input = only_input(class_name_, inputs);
    require(fits(input, inputs_[0].shape()), "layer '{}' is a model that takes {}, got {}", name(), inputs_[0].shape(),
            input);
    std::map<std::uint64_t, Shape> shapes{{inputs_[0].node().number, input}};
    const auto shapes_of = [&](const Symbol::Node& call) {
      std::vector<Shape> found;
      for (const Symbol& symbol : layer_inputs(call.inputs, call.given_masks))
        found.push_back(shapes.at(symbol.node().number));
      return found;
    };
    for (const auto& [number, symbol] : calls_) {
      const Symbol::Node& node = symbol.node();
      if (node.result == 0)
        shapes[number] = node.layer->output_shape(shapes_of(node));
      else
        shapes[number] =
            node.layer->more_output_shapes(shapes_of(node.inputs[0].node()))[static_cast<std::size_t>(node.result) - 1];
    }
    return shapes.at(outputs_[0].node().number);
  }

  Tensor call(std::span<const Tensor> inputs, const LayerCall& call) override {
    const std::vector<Tensor> xs(inputs.begin(), inputs.end());
    if (!call.mask(0).defined()) return (*network_)(xs, call.mode);
    return masked_->run(xs, call.mode, nullptr, call.masks).front();
  }

  std::uint32_t first_free_stream(std::uint64_t seed) const override {
    return network_ ? network_->first_free_stream(seed) : 0;
  }

  /// Before the model is built, the object in the file.
  Json json() const {
    return description_ ? network_config(with_file_names(*description_, ConfigForm::keras_3)) : config_;
  }
  void set_config(const Json& config) { config_ = config; }
  const NestedModel* description() const { return description_ ? &*description_ : nullptr; }

 private:
  InnerModelImpl(std::string name, std::string class_name, const std::vector<Symbol>& inputs,
                 const std::vector<Symbol>& outputs, Calls calls)
      : LayerImpl(std::move(name), traits_of(calls)),
        class_name_(std::move(class_name)),
        inputs_(inputs),
        outputs_(outputs),
        calls_(std::move(calls)) {}

  void set_network(const Network& network) {
    network_ = network;
    description_ =
        class_name_ == "Sequential" ? keras_model(network, name(), class_name_) : saved_keras_model(network, name());
  }

  void make_weights(std::span<const Shape>, const LayerSeed& seed) override {
    if (!network_) set_network(Network(inputs_, outputs_, model_seed(seed)));
    for (const WeightsGroup& group : layer_groups(*description_))
      adopt_inner({.group = group.path, .layer = group.layer.shared()});
    const std::vector<int> order = running_order(*network_);
    Plan plan = plan_steps(network_->calls(), order, network_->layers(), network_->outputs(), true);
    const bool placed = std::ranges::any_of(network_->calls(), [](const GraphCall& call) { return !!call.device; });
    masked_ = std::make_shared<PlanExecution>(std::move(plan), network_->layers(), placed, true);
  }

  std::string class_name_;
  std::vector<Symbol> inputs_;
  std::vector<Symbol> outputs_;
  Calls calls_;
  Json config_{};
  ///@{
  /// Empty for a model of a file until it is built.
  std::optional<Network> network_{};
  std::optional<NestedModel> description_{};
  ///@}
  std::shared_ptr<const PlanExecution> masked_;  ///< computes inputs with masks; null until the model is built
};

}  // namespace

std::shared_ptr<LayerImpl> inner_model(const Network& network, const NestedModel& model) {
  return std::make_shared<InnerModelImpl>(network, model);
}

std::shared_ptr<LayerImpl> inner_model_from_config(const Json& object) {
  const std::string class_name = class_name_in(object);
  if (!is_model(class_name)) return nullptr;
  const SymbolicModel model = model_from_config(object);
  const auto layer = std::make_shared<InnerModelImpl>(
      model.name, class_name == "Sequential" ? class_name : "Functional", model.inputs, model.outputs);
  layer->set_config(object);
  return layer;
}

Json inner_model_json(const LayerImpl& layer) {
  const auto* const model = dynamic_cast<const InnerModelImpl*>(&layer);
  return model == nullptr ? Json() : model->json();
}

const NestedModel* inner_model_description(const LayerImpl& layer) {
  const auto* const model = dynamic_cast<const InnerModelImpl*>(&layer);
  return model == nullptr ? nullptr : model->description();
}

}  // namespace lockstep
