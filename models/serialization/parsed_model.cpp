#include "lockstep/models/serialization/parsed_model.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <lockstep/models/config/object_config.h>
#include <lockstep/models/layers/attention.h>
#include <lockstep/models/layers/naming.h>
#include <lockstep/models/layers/operation.h>
#include <lockstep/models/layers/recurrent_layer.h>
#include <lockstep/models/serialization/mask_operations.h>
#include <lockstep/models/serialization/operations.h>
#include <lockstep/runtime/core/error.h>

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;
using ParsedReferences = std::vector<ParsedReference>;

/// Whether `value` has the form ["dense", 0, 0]. In Keras 2, the call's arguments may follow as a fourth element.
bool is_reference(const Json& value) {
  return value.is_array() && value.size() >= 3 && value[0].is_string() && value[1].is_number_integer() &&
         value[2].is_number_integer() && value[1] >= 0 && value[2] >= 0;
}

/// Whether an argument of a call has no effect: null, false, or a list or object of these.
bool says_nothing(const Json& value) {
  if (value.is_null() || value == false) return true;
  return value.is_structured() && std::ranges::all_of(value, says_nothing);
}

void read_arguments(const std::string& layer, const Json& arguments, ParsedCall& call) {
  for (const auto& [key, value] : arguments.items()) {
    if (key == "training" && value.is_boolean())
      call.training = value.get<bool>();
    else
      require<InputError>(says_nothing(value),
                          "layer '{}' is called with {} = {}; only inputs and training can be given: in Keras, call it "
                          "without {}, or use operations of keras.ops or a layer that computes the same",
                          layer, key, value.dump(), key);
  }
}

/// Takes the flags that only calls of attention have from the arguments.
void take_flags_of_attention(Json& arguments, ParsedCall& call) {
  const auto take = [&](const char* key, bool& flag) {
    if (!arguments.contains(key) || !arguments[key].is_boolean()) return;
    flag = arguments[key].get<bool>();
    arguments.erase(key);
  };
  take("use_causal_mask", call.use_causal_mask);
  take("return_attention_scores", call.return_attention_scores);
}

/// Adds the tensors in the arguments of a call in Keras 3's form.
void add_tensors(const ParsedLayer& called, const Json& value, ParsedReferences& found) {
  const std::string& layer = called.name;
  if (is_tensor(value)) {
    const Json& history = history_of(value);
    require<InputError>(is_reference(history), "layer '{}' is called on {}, which is no result of a layer", layer,
                        history.dump());
    found.push_back(reference_of(history));
  } else if (value.is_structured()) {
    for (const Json& part : value) add_tensors(called, part, found);
  } else {
    require<InputError>(says_nothing(value),
                        "layer '{}' of class {} is called on the value {}, not on the result of a layer; build the "
                        "model of layers and of Keras' operations {}",
                        layer, called.class_name, value.dump(), fmt::join(operation_names(), ", "));
  }
}

/// Whether the results of layers in an operation's arguments have floating-point numbers, as those of most layers.
bool has_real_tensors(const Json& args) {
  if (is_tensor(args)) {
    const Json dtype = args.at("config").value("dtype", Json());
    return !dtype.is_string() || dtype.get<std::string>().find("float") != std::string::npos;
  }
  return !args.is_array() || std::ranges::all_of(args, has_real_tensors);
}

/// Replaces the tensors in an operation's arguments as operation_layer() describes, and adds them to the call's inputs.
void take_tensors(const std::string& operation, Json& value, ParsedCall& call) {
  if (is_tensor(value)) {
    const Json& history = history_of(value);
    require<InputError>(is_reference(history), "operation '{}' is called on {}, which is no result of a layer",
                        operation, history.dump());
    call.inputs.push_back(reference_of(history));
    value = {{"tensor", call.inputs.size() - 1}};
  } else if (value.is_structured()) {
    for (Json& part : value) take_tensors(operation, part, call);
  }
}

/// Whether an operation's call has arguments other than results of layers.
bool has_values(const Json& args) {
  if (is_tensor(args)) return false;
  return !args.is_array() || std::ranges::any_of(args, has_values);
}

/// Finds the layer that computes the same as an operation: Rescaling for a negation and for an operation of a tensor
/// and a number, or the layer of the same name that combines the operation's inputs.
void find_layer(ParsedLayer& layer, const Json& args) {
  const std::set<std::string_view> layers{"Add", "Subtract", "Multiply", "Maximum", "Minimum", "Concatenate"};
  layer.is_layer = has_real_tensors(args);
  if (!layer.is_layer || (layers.contains(layer.class_name) && !has_values(args))) return;
  const std::optional<std::pair<double, double>> affine = affine_form(layer.class_name, args, is_tensor);
  layer.is_layer = affine.has_value();
  if (!affine) return;
  layer.class_name = "Rescaling";
  layer.values =
      std::make_shared<const Json>(Json{{"name", layer.name}, {"scale", affine->first}, {"offset", affine->second}});
}

/// Reads the call of an operation.
void read_operation(ParsedLayer& layer, const Json& node) {
  ParsedCall& call = layer.calls.emplace_back();
  Json args = node.at("args");
  Json named = node.at("kwargs");
  place_arguments(layer.class_name, args, named);
  take_tensors(layer.name, args, call);
  read_arguments(layer.name, named, call);
  layer.operation = {.class_name = layer.class_name,
                     .options = layer.values,
                     .arguments = std::make_shared<const Json>(std::move(args))};
  find_layer(layer, node.at("args"));
}

/// The result of a layer to which an argument refers, in Keras 2's or 3's form; empty for other values.
std::optional<ParsedReference> tensor_of(const Json& value) {
  if (is_reference(value)) return reference_of(value);
  if (!value.is_object() || value.value("class_name", Json()) != "__keras_tensor__") return {};
  const Json& history = history_of(value);
  if (!is_reference(history)) return {};
  return reference_of(history);
}

/// Reads the arguments of a call of MultiHeadAttention, by name. The inputs become query, value, key, mask; the value
/// is also the key if a mask, or a mask of the key, is given without a key.
void read_attention(const std::string& layer, const Json& arguments, bool has_key_mask, ParsedCall& call) {
  std::map<std::string, ParsedReference> tensors;
  Json others = Json::object();
  for (const auto& [key, value] : arguments.items()) {
    if (const std::optional<ParsedReference> tensor = tensor_of(value))
      tensors.emplace(key, *tensor);
    else
      others[key] = value;
  }
  take_flags_of_attention(others, call);
  read_arguments(layer, others, call);
  const auto add = [&](const char* key, const char* otherwise) {
    const auto found = tensors.contains(key) ? tensors.find(key) : tensors.find(otherwise);
    require<InputError>(found != tensors.end(), "layer '{}' is called without {}", layer, key);
    call.inputs.push_back(found->second);
  };
  add("query", "");
  add("value", "");
  call.key_is_value = !tensors.contains("key");
  if (tensors.contains("key") || tensors.contains("attention_mask") || has_key_mask) add("key", "value");
  if (tensors.contains("attention_mask")) add("attention_mask", "");
  for (const char* key : {"query", "value", "key", "attention_mask"}) tensors.erase(key);
  require<InputError>(tensors.empty(), "layer '{}' is called with {}; only query, value, key and attention_mask can be",
                      layer, tensors.empty() ? "" : tensors.begin()->first);
}

/// The names of the positional arguments of a call of MultiHeadAttention, in Keras' order.
constexpr const char* attention_arguments[] = {"query",
                                               "value",
                                               "key",
                                               "query_mask",
                                               "value_mask",
                                               "key_mask",
                                               "attention_mask",
                                               "return_attention_scores",
                                               "training",
                                               "use_causal_mask"};

/// A call of MultiHeadAttention. In Keras 2, the arguments given by name are the fourth element of the query's
/// reference.
ParsedCall read_attention_call(const std::string& layer, const Json& node) {
  const bool is_keras_2 = node.is_array();
  Json arguments = Json::object();
  const Json& in_order = is_keras_2 ? node : node.at("args");
  require<InputError>(in_order.is_array() && in_order.size() <= std::size(attention_arguments),
                      "layer '{}' is called with other arguments than Keras' attention: {}", layer, in_order.dump());
  for (std::size_t i = 0; i < in_order.size(); ++i) arguments[attention_arguments[i]] = in_order[i];
  if (!is_keras_2)
    arguments.update(node.at("kwargs"));
  else if (!in_order.empty() && in_order[0].size() > 3)
    arguments.update(in_order[0][3]);
  ParsedCall call;
  read_attention(layer, arguments, !is_keras_2 && node.contains("masks") && node["masks"].contains("key_mask"), call);
  return call;
}

/// The name of the argument that the inputs after the first one are; empty for most classes.
const char* argument_of_inputs(std::string_view class_name) {
  if (is_recurrent(class_name)) return "initial_state";
  return class_name == "CategoryEncoding" ? "count_weights" : class_name == "Softmax" ? "mask" : "";
}

ParsedCall read_call(const ParsedLayer& called, const Json& node) {
  const std::string& layer = called.name;
  require<InputError>(!called.class_name.ends_with("OpLambda"),
                      "layer '{}' of class {} is a function of TensorFlow, such as x * 2: those cannot be read; build "
                      "the model of layers alone",
                      layer, called.class_name);
  if (is_multi_head_attention(called.class_name)) return read_attention_call(layer, node);
  ParsedCall call;
  if (node.is_object()) {
    add_tensors(called, node.at("args"), call.inputs);
    Json arguments = node.at("kwargs");
    if (is_attention(called.class_name)) take_flags_of_attention(arguments, call);
    const char* const further = argument_of_inputs(called.class_name);
    if (arguments.contains(further)) {
      const std::size_t in_order = call.inputs.size();
      add_tensors(called, arguments[further], call.inputs);
      arguments.erase(further);
      call.has_named_mask = called.class_name == "Softmax" && call.inputs.size() > in_order;
    }
    read_arguments(layer, arguments, call);
    return call;
  }
  for (const Json& input : node) {
    require<InputError>(is_reference(input), "layer '{}' is called on {}, which is no result of a layer", layer,
                        input.dump());
    call.inputs.push_back(reference_of(input));
    // The Lambda layers of an old multi_gpu_model have their slice number as an argument, which is ignored.
    if (input.size() <= 3 || called.class_name == "Lambda") continue;
    Json arguments = input[3];
    if (is_attention(called.class_name)) take_flags_of_attention(arguments, call);
    read_arguments(layer, arguments, call);
  }
  return call;
}

/// Adds the references in a model's input_layers or output_layers: lists in order, dictionaries by key, as in Keras.
void add_ends(const Json& value, ParsedReferences& found) {
  if (is_reference(value)) {
    found.push_back(reference_of(value));
  } else if (value.is_object()) {
    const nlohmann::json sorted = value;
    for (const auto& part : sorted) add_ends(part, found);
  } else if (value.is_array()) {
    for (const Json& part : value) add_ends(part, found);
  }
}

ParsedLayer read_layer(const Json& layer) {
  const Json& values = layer.at("config");
  std::string name = layer.contains("name") ? layer["name"].get<std::string>()
                     : values.is_object()   ? values.value("name", "")
                                            : "sequential";
  ParsedLayer result{.name = std::move(name),
                     .class_name = class_name_in(layer),
                     .group = snake_case(layer.at("class_name").get<std::string>()),
                     .values = std::make_shared<const Json>(values)};
  if (result.class_name == "GroupedQueryAttention") result.class_name = "GroupQueryAttention";  // its name in .h5 files
  if (layer.contains("shared_object_id")) result.shared_id = layer["shared_object_id"].get<std::int64_t>();
  if (is_model(result.class_name)) result.model = std::make_shared<const ParsedModel>(parse_model_config(layer));
  result.is_operation = is_operation(layer);
  Json nodes = layer.value("inbound_nodes", Json::array());
  if (result.is_operation && nodes.size() == 1 && is_operation_name(result.class_name)) {
    read_operation(result, nodes[0]);
    return result;
  }
  for (const Json& node : nodes) {
    result.calls.push_back(read_call(result, node));
    if (node.is_object() && node.contains("masks"))
      result.calls.back().masks = std::make_shared<const Json>(node["masks"]);
  }
  return result;
}

/// Corrects indices of calls of nested models. Keras 2 counts a model's creation as its first call everywhere; Keras 3
/// does so only where the enclosing model's outputs refer to results of a Functional.
class CallCounts {
 public:
  explicit CallCounts(const Json& layers) {
    for (const Json& layer : layers) {
      const std::string class_name = class_name_in(layer);
      if (!is_model(class_name)) continue;
      const Json nodes = layer.value("inbound_nodes", Json::array());
      const bool legacy = !nodes.empty() && nodes[0].is_array();
      const std::string name = layer.at("name").get<std::string>();
      if (legacy) in_calls_.insert(name);
      if (legacy || class_name != "Sequential") in_ends_.insert(name);
    }
  }

  void correct_call(ParsedReference& reference) const { correct(reference, in_calls_); }
  void correct_end(ParsedReference& reference) const { correct(reference, in_ends_); }

 private:
  static void correct(ParsedReference& reference, const std::set<std::string>& counted) {
    if (reference.call > 0 && counted.contains(reference.layer)) --reference.call;
  }

  std::set<std::string> in_calls_;
  std::set<std::string> in_ends_;
};

/// The results from which a mask is computed, without those of `operations`, which compute it.
std::vector<ParsedReference> sources_of(const Json& mask, const Json& operations) {
  std::vector<ParsedReference> sources;
  std::set<std::string> seen;
  std::vector<const Json*> left{&mask};
  while (!left.empty()) {
    const Json& value = *left.back();
    left.pop_back();
    const std::optional<ParsedReference> tensor = is_tensor(value) ? tensor_of(value) : std::nullopt;
    if (tensor && !operations.contains(tensor->layer)) {
      sources.push_back(*tensor);
    } else if (tensor) {
      if (seen.insert(tensor->layer).second) left.push_back(&operations.at(tensor->layer).at("inbound_nodes"));
    } else if (value.is_structured()) {
      for (const Json& part : value) left.push_back(&part);
    }
  }
  return sources;
}

/// An operation that computes only masks. Those that cannot be read are refused if a call needs them.
ParsedLayer read_mask_operation(const std::string& name, const Json& operation) {
  ParsedLayer read;
  try {
    read = read_layer(operation);
  } catch (const InputError& error) {
    read = {.name = name,
            .class_name = class_name_in(operation),
            .group = {},
            .values = std::make_shared<const Json>(),
            .calls = {ParsedCall()},
            .refusal = error.what()};
  }
  read.only_masks = true;
  return read;
}

ParsedModel read_functional(const Json& config) {
  ParsedModel model{.name = config.value("name", "functional")};
  const CallCounts counts(config.at("layers"));
  const SeparatedMasks separated = separate_masks(config);
  model.mask_operations = std::make_shared<const Json>(separated.operations);
  for (const Json& layer : separated.layers) {
    model.layers.push_back(read_layer(layer));
    for (ParsedCall& call : model.layers.back().calls) {
      for (ParsedReference& reference : call.inputs) counts.correct_call(reference);
      if (call.masks) call.mask_sources = sources_of(*call.masks, separated.operations);
    }
  }
  std::set<std::string> names;
  for (const ParsedLayer& layer : model.layers) names.insert(layer.name);
  for (const auto& [name, operation] : separated.operations.items())
    if (!names.contains(name)) model.layers.push_back(read_mask_operation(name, operation));
  add_ends(config.at("input_layers"), model.inputs);
  add_ends(config.at("output_layers"), model.outputs);
  for (ParsedReference& output : model.outputs) counts.correct_end(output);
  return model;
}

/// The InputLayer to insert before the first layer of a Sequential model.
ParsedLayer input_before(const ParsedLayer& first, const Json& config) {
  Json values{{"name", first.name + "_input"}};
  for (const char* key : {"batch_input_shape", "batch_shape"})
    if (first.values->is_object() && first.values->contains(key)) values["batch_shape"] = (*first.values)[key];
  if (first.model && !first.model->layers.empty())
    values["batch_shape"] = first.model->layers.front().values->value("batch_shape", Json());
  if (config.is_object() && config.contains("build_input_shape")) values["batch_shape"] = config["build_input_shape"];
  return {.name = first.name + "_input",
          .class_name = "InputLayer",
          .group = snake_case("InputLayer"),
          .values = std::make_shared<const Json>(values)};
}

/// The option that gives a recurrent layer, or the one inside Bidirectional, several results; empty if none does.
std::string_view option_of_several_results(const Json& options) {
  if (!options.is_object()) return {};
  if (options.value("return_state", Json()) == true) return "return_state";
  const Json inner = options.value("layer", Json());
  if (!inner.is_object() || !inner.contains("config")) return {};
  if (options.contains("merge_mode") && options["merge_mode"].is_null()) return "no merge_mode";
  return option_of_several_results(inner["config"]);
}

ParsedModel read_sequential(const Json& config) {
  // Up to Keras 2.2.2 the config is the list of layers.
  ParsedModel model{.name = config.is_object() ? config.value("name", "sequential") : "sequential"};
  for (const Json& layer : config.is_object() ? config.at("layers") : config) model.layers.push_back(read_layer(layer));
  require<InputError>(!model.layers.empty(), "the Sequential model '{}' has no layers", model.name);
  UniqueNames names;
  for (const ParsedLayer& layer : model.layers) names.take(layer.name);
  for (ParsedLayer& layer : model.layers)  // the get_config of a registered class may leave out the name
    if (layer.name.empty()) layer.name = names.make(layer.group);
  for (const ParsedLayer& layer : model.layers) {
    const std::string_view option = option_of_several_results(*layer.values);
    require<InputError>(option.empty(),
                        "layer '{}' of the Sequential model '{}' has {}; layers of such models have one result",
                        layer.name, model.name, option);
  }
  if (model.layers.front().class_name != "InputLayer")
    model.layers.insert(model.layers.begin(), input_before(model.layers.front(), config));
  for (std::size_t i = 1; i < model.layers.size(); ++i)
    model.layers[i].calls = {{.inputs = {{.layer = model.layers[i - 1].name}}}};
  model.inputs = {{.layer = model.layers.front().name}};
  model.outputs = {{.layer = model.layers.back().name}};
  return model;
}

/// Whether a layer selects one of `parts` parts of a batch, like the layers of multi_gpu_model and make_parallel.
/// Recognized by the arguments of its Lambda function, which is never run.
bool is_slice(const ParsedLayer& layer, std::size_t parts) {
  if (layer.class_name != "Lambda" || !layer.values->is_object()) return false;
  const Json arguments = layer.values->value("arguments", Json());
  if (!arguments.is_object() || arguments.value("parts", Json()) != parts) return false;
  const Json part = arguments.value("i", arguments.value("idx", Json()));
  return part.is_number_integer() && part >= 0 && part < parts;
}

/// Whether a layer concatenates the parts of a batch.
bool is_join(const ParsedLayer& layer, std::size_t parts) {
  return layer.class_name == "Concatenate" && layer.values->value("axis", -1) == 0 && layer.calls.size() == 1 &&
         layer.calls.front().inputs.size() == parts;
}

}  // namespace

ParsedReference reference_of(const Json& reference) {
  return {.layer = reference.at(0).get<std::string>(),
          .call = reference.at(1).get<std::size_t>(),
          .result = reference.at(2).get<std::size_t>()};
}

bool is_model(std::string_view class_name) {
  return class_name == "Functional" || class_name == "Model" || class_name == "Sequential";
}

ParsedModel parse_model_config(const Json& model) {
  const std::string class_name = model.at("class_name").get<std::string>();
  require<InputError>(is_model(class_name), "the model is of class {}; known are Functional, Model and Sequential",
                      class_name);
  const Json& config = model.at("config");
  ParsedModel read = class_name == "Sequential" ? read_sequential(config) : read_functional(config);
  read.trainable = !config.is_object() || config.value("trainable", true);
  return read;
}

const ParsedLayer* template_of_replicas(const ParsedModel& model) {
  const auto found =
      std::ranges::find_if(model.layers, [](const ParsedLayer& layer) { return layer.model != nullptr; });
  if (found == model.layers.end() || found->calls.size() < 2) return nullptr;
  const std::size_t parts = found->calls.size();
  std::map<std::string_view, const ParsedLayer*> layers;
  for (const ParsedLayer& layer : model.layers) layers.emplace(layer.name, &layer);
  const auto reads = [&](const ParsedReferences& references, const auto& kind) {
    return std::ranges::all_of(references, [&](const ParsedReference& reference) {
      const auto layer = layers.find(reference.layer);
      return layer != layers.end() && kind(*layer->second, parts);
    });
  };
  const auto reads_slices = [&](const ParsedCall& call) { return reads(call.inputs, is_slice); };
  const auto is_known = [&](const ParsedLayer& layer) {
    return &layer == &*found || layer.class_name == "InputLayer" || is_slice(layer, parts) || is_join(layer, parts);
  };
  const bool parallel = std::ranges::all_of(model.layers, is_known) &&
                        std::ranges::all_of(found->calls, reads_slices) && reads(model.outputs, is_join);
  return parallel ? &*found : nullptr;
}

}  // namespace lockstep
