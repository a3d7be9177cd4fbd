#include "lockstep/models/serialization/network_config.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <lockstep/models/graph/naming.h>
#include <lockstep/models/layers/keras_names.h>
#include <lockstep/models/layers/layer_config.h>
#include <lockstep/models/serialization/keras_order.h>

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;

Json batch_shape(const Shape& shape) {
  Json result = Json::array({nullptr});
  for (const std::int64_t size : shape) result.push_back(size);
  return result;
}

/// A result by what gives it: the layer's name and which of its calls, and the first of its tensors.
class References {
 public:
  References(const Network& network, const NetworkNames& names) : network_(network), names_(names) {
    std::vector<int> calls_of(network.layers().size(), 0);
    for (const GraphCall& call : network.calls()) numbers_.push_back(calls_of[index(call.layer)]++);
  }

  Json of(int call) const {
    if (call < 0) return Json::array({names_.inputs[index(-1 - call)], 0, 0});
    return Json::array({names_.layers[index(network_.calls()[index(call)].layer)], numbers_[index(call)], 0});
  }

  Json tensor(int call) const {
    const Shape& shape = call < 0 ? network_.inputs()[index(-1 - call)].shape : network_.calls()[index(call)].shape;
    return {{"class_name", "__keras_tensor__"},
            {"config", {{"shape", batch_shape(shape)}, {"dtype", dtype(call)}, {"keras_history", of(call)}}}};
  }

 private:
  const char* dtype(int call) const {
    if (call < 0) return "float32";
    const LayerImpl& layer = network_.layers()[index(network_.calls()[index(call)].layer)].impl();
    return layer.compute_dtype() == DType::bf16 ? "bfloat16" : "float32";
  }
  static std::size_t index(int number) { return static_cast<std::size_t>(number); }

  const Network& network_;
  const NetworkNames& names_;
  std::vector<int> numbers_;  ///< by call: how many its layer had before
};

Json input_config(const Shape& shape, const std::string& name) {
  Json layer = keras_object("keras.layers", "InputLayer");
  layer["config"] = {
      {"batch_shape", batch_shape(shape)}, {"dtype", "float32"}, {"sparse", false}, {"ragged", false}, {"name", name}};
  layer["name"] = name;
  layer["inbound_nodes"] = Json::array();
  return layer;
}

Json layer_config(const LayerImpl& layer, const std::string& name) {
  LayerConfig config(layer.class_name(), name, layer.trainable(), layer.dtype_policy());
  layer.describe(config);
  Json result = keras_object("keras.layers", layer.class_name());
  result["config"] = config.values();
  result["name"] = name;
  result["inbound_nodes"] = Json::array();
  return result;
}

/// Keras gives several inputs as a list, and one as itself.
Json node_config(const GraphCall& call, const References& references) {
  Json tensors = Json::array();
  for (const int input : call.inputs) tensors.push_back(references.tensor(input));
  Json args = Json::array();
  if (tensors.size() == 1)
    args.push_back(tensors[0]);
  else
    args.push_back(std::move(tensors));
  Json kwargs = Json::object();
  if (call.mode) kwargs["training"] = *call.mode == Mode::train;
  return {{"args", std::move(args)}, {"kwargs", std::move(kwargs)}};
}

/// As Keras lists inputs and outputs: one as itself.
Json ends(const std::vector<int>& calls, const References& references) {
  Json list = Json::array();
  for (const int call : calls) list.push_back(references.of(call));
  return list.size() == 1 ? list[0] : list;
}

Json all_layers(const Network& network, const NetworkNames& names, const References& references) {
  Json layers = Json::array();
  for (std::size_t i = 0; i < network.inputs().size(); ++i)
    layers.push_back(input_config(network.inputs()[i].shape, names.inputs[i]));
  std::vector<Json> by_layer;
  for (std::size_t i = 0; i < network.layers().size(); ++i)
    by_layer.push_back(layer_config(network.layers()[i].impl(), names.layers[i]));
  for (const GraphCall& call : network.calls())
    by_layer[static_cast<std::size_t>(call.layer)]["inbound_nodes"].push_back(node_config(call, references));
  for (const int layer : keras_layer_order(network.calls(), network.outputs(), network.layers().size()))
    layers.push_back(std::move(by_layer[static_cast<std::size_t>(layer)]));
  return layers;
}

void remove_modules(Json& object) {
  for (const char* key : {"module", "registered_name"}) object.erase(key);
}

}  // namespace

NetworkNames own_names(const Network& network, const std::string& model) {
  NetworkNames names{.model = model, .inputs = {}, .layers = {}};
  for (const NetworkInput& input : network.inputs()) names.inputs.push_back(input.name);
  for (const Layer& layer : network.layers()) names.layers.push_back(layer.name());
  return names;
}

NetworkNames file_names(const Network& network, const std::string& model, ConfigForm form) {
  NetworkNames names = own_names(network, model);
  std::ranges::replace(names.model, '/', '_');
  UniqueNames unique;
  if (form == ConfigForm::legacy_h5)
    for (const char* reserved : {".", "top_level_model_weights"}) unique.take(reserved);
  std::vector<std::string*> to_change;
  for (std::vector<std::string>* const list : {&names.inputs, &names.layers})
    for (std::string& name : *list)
      if (name.find('/') != std::string::npos || !unique.take(name)) to_change.push_back(&name);
  for (std::string* const name : to_change) {
    std::ranges::replace(*name, '/', '_');
    *name = unique.make(*name);
  }
  return names;
}

Json network_config(const Network& network, const NetworkNames& names, ConfigForm form) {
  const References references(network, names);
  std::vector<int> inputs;
  for (std::size_t i = 0; i < network.inputs().size(); ++i) inputs.push_back(-1 - static_cast<int>(i));
  Json model = keras_object("keras.src.models.functional", "Functional");
  model["registered_name"] = "Functional";
  model["config"] = {{"name", names.model},
                     {"trainable", true},
                     {"layers", all_layers(network, names, references)},
                     {"input_layers", ends(inputs, references)},
                     {"output_layers", ends(network.outputs(), references)}};
  if (form == ConfigForm::legacy_h5) {
    remove_modules(model);
    for (Json& layer : model["config"]["layers"]) remove_modules(layer);
  }
  return model;
}

}  // namespace lockstep
