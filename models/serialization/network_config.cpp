#include "lockstep/models/serialization/network_config.h"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <lockstep/models/graph/unknown_sizes.h>
#include <lockstep/models/layers/attention.h>
#include <lockstep/models/layers/dtype_policy.h>
#include <lockstep/models/layers/layer_registry.h>
#include <lockstep/models/layers/masking.h>
#include <lockstep/models/layers/merge.h>
#include <lockstep/models/layers/naming.h>
#include <lockstep/models/layers/operation.h>
#include <lockstep/models/layers/preprocessing.h>
#include <lockstep/models/layers/recurrent_layer.h>
#include <lockstep/models/serialization/operations.h>
#include <lockstep/models/serialization/parsed_model.h>

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;

std::size_t index(int number) { return static_cast<std::size_t>(number); }

const std::string& name_of(const ModelPart& part) { return part.layer ? part.layer->name() : part.model->name; }

Json batch_shape(const Shape& shape) {
  Json result = Json::array({nullptr});
  for (const std::int64_t size : shape) result.push_back(size == -1 ? Json() : Json(size));
  return result;
}

const NestedModel* model_of(const NestedModel& model, const PartResult& result) {
  if (result.call < 0) return nullptr;
  return model.layers[index(model.calls[index(result.call)].part)].model.get();
}

Shape shape_of(const NestedModel& model, const PartResult& result) {
  if (result.call < 0) return model.inputs[index(-1 - result.call)].shape;
  const NestedModel* const inner = model_of(model, result);
  return inner == nullptr ? model.calls[index(result.call)].shapes[index(result.result)]
                          : shape_of(*inner, inner->outputs[index(result.result)]);
}

/// The dtypes of the results of each call in a model.
class ResultDTypes {
 public:
  explicit ResultDTypes(const NestedModel& model) : model_(model), of_calls_(model.calls.size()) {
    for (std::size_t i = 0; i < model.calls.size(); ++i) find(i);
  }

  DType of(const PartResult& result) const {
    if (result.call < 0) return DType::f32;
    const std::vector<DType>& found = of_calls_[index(result.call)];
    return index(result.result) < found.size() ? found[index(result.result)] : DType::f32;
  }

 private:
  /// Finds the dtypes of a call, after those of all calls that it depends on.
  void find(std::size_t call) {
    std::vector<std::size_t> path{call};
    while (!path.empty()) {
      const std::vector<PartResult>& inputs = model_.calls[path.back()].inputs;
      const auto next = std::ranges::find_if(
          inputs, [&](const PartResult& input) { return input.call >= 0 && of_calls_[index(input.call)].empty(); });
      if (next != inputs.end()) {
        path.push_back(index(next->call));
      } else {
        of_calls_[path.back()] = results_of(model_.calls[path.back()]);
        path.pop_back();
      }
    }
  }

  std::vector<DType> results_of(const PartCall& call) {
    const ModelPart& part = model_.layers[index(call.part)];
    if (part.model) {
      std::vector<DType>& found = of_models_[part.model.get()];
      if (!found.empty()) return found;
      const ResultDTypes inner(*part.model);
      for (const PartResult& output : part.model->outputs) found.push_back(inner.of(output));
      return found;
    }
    std::vector<Shape> shapes;
    std::vector<DType> dtypes;
    for (const PartResult& input : call.inputs) {
      shapes.push_back(examples_of(shape_of(model_, input))[0]);
      dtypes.push_back(of(input));
    }
    const std::vector<DType> found = operation_dtypes(part.layer->impl(), shapes, dtypes);
    return found.empty() ? std::vector(std::max<std::size_t>(call.shapes.size(), 1), part.layer->impl().compute_dtype())
                         : found;
  }

  const NestedModel& model_;
  std::vector<std::vector<DType>> of_calls_;  ///< empty for calls that are not done
  std::map<const NestedModel*, std::vector<DType>> of_models_{};
};

/// The dtype that Keras needs for input i of a model: of integers if all calls that read it encode them, bool if it is
/// only given to calls as a mask.
const char* input_dtype(const NestedModel& model, int i) {
  std::set<std::string_view> uses;
  for (const PartCall& call : model.calls)
    for (std::size_t place = 0; place < call.inputs.size(); ++place) {
      if (call.inputs[place].call != -1 - i) continue;
      const ModelPart& part = model.layers[index(call.part)];
      const std::string_view class_name = part.layer ? part.layer->impl().class_name() : std::string_view();
      const bool encodes = place == 0 && (class_name == "CategoryEncoding" || class_name == "OneHot");
      const bool is_mask = !call.given_masks.empty() && place >= call.given_masks.size();
      uses.insert(is_mask ? "bool" : encodes ? "int32" : "float32");
    }
  return uses.size() == 1 ? uses.begin()->data() : "float32";
}

/// Keras' references to results: [name of the layer or model, index of its call, index of the call's result].
class References {
 public:
  explicit References(const NestedModel& model) : model_(model), dtypes_(model) {
    std::vector<int> calls_of(model.layers.size(), 0);
    for (const PartCall& call : model.calls) numbers_.push_back(calls_of[index(call.part)]++);
    for (std::size_t i = 0; i < model.inputs.size(); ++i)
      input_dtypes_.emplace_back(input_dtype(model, static_cast<int>(i)));
  }

  int rank_of(const PartResult& result) const { return shape_of(model_, result).rank(); }

  /// Keras' name of the dtype.
  std::string dtype_of(const PartResult& result) const {
    return result.call < 0 ? input_dtypes_[index(-1 - result.call)] : std::string(keras_dtype_name(dtypes_.of(result)));
  }

  /// `is_end`: whether the reference is for the model's output_layers, where Keras counts the creation of a Functional
  /// as its first call.
  Json of(const PartResult& result, bool is_end) const {
    if (result.call < 0) return Json::array({model_.inputs[index(-1 - result.call)].name, 0, 0});
    const ModelPart& part = model_.layers[index(model_.calls[index(result.call)].part)];
    const int making = is_end && part.model && part.model->class_name == "Functional" ? 1 : 0;
    return Json::array({name_of(part), numbers_[index(result.call)] + making, result.result});
  }

  Json tensor(const PartResult& result) const {
    return {{"class_name", "__keras_tensor__"},
            {"config",
             {{"shape", batch_shape(shape_of(model_, result))},
              {"dtype", dtype_of(result)},
              {"keras_history", of(result, false)}}}};
  }

 private:
  const NestedModel& model_;
  ResultDTypes dtypes_;
  std::vector<int> numbers_;  ///< for each call, its index among the calls of its part
  std::vector<std::string> input_dtypes_;
};

Json input_config(const NetworkInput& input, const std::string& dtype) {
  const std::string& name = input.name;
  Json shape = batch_shape(input.shape);
  if (input.batch_size > 0) shape[0] = input.batch_size;
  Json layer = keras_object({"keras.layers", "InputLayer"});
  layer["config"] = {
      {"batch_shape", std::move(shape)}, {"dtype", dtype}, {"sparse", false}, {"ragged", false}, {"name", name}};
  layer["name"] = name;
  layer["inbound_nodes"] = Json::array();
  return layer;
}

Json operation_config(const LayerImpl& layer, const OperationForm& form, const std::string& name) {
  const std::string class_name(layer.class_name());
  Json result = keras_object({form.module, class_name, class_name});
  result["config"] = form.options->is_object() ? *form.options : Json::object();
  result["config"]["name"] = name;
  result["name"] = name;
  result["inbound_nodes"] = Json::array();
  return result;
}

/// Replaces {"tensor": i} in the arguments of an operation by the tensors.
void put_tensors(Json& value, const Json& tensors) {
  if (value.is_object() && value.contains("tensor")) {
    value = tensors.at(value["tensor"].get<std::size_t>());
  } else if (value.is_structured()) {
    for (Json& part : value) put_tensors(part, tensors);
  }
}

Json layer_config(const LayerImpl& layer, const std::string& name) {
  if (const OperationForm form = operation_form(layer); form.args != nullptr)
    return operation_config(layer, form, name);
  Json result = layer_json(layer, name);
  result["name"] = name;
  result["inbound_nodes"] = Json::array();
  return result;
}

/// Moves the masks that a call is given from its tensors to its named arguments.
void take_masks(const PartCall& call, const ModelPart& part, const References& references, Json& tensors,
                Json& kwargs) {
  const std::string_view class_name = part.layer->impl().class_name();
  const GivenMasks& given = call.given_masks;
  Json masks = Json::array();
  for (const int mask : given) {
    masks.push_back(mask < 0 ? Json() : tensors[index(mask)]);
    require<Unsupported>(mask < 0 || references.dtype_of(call.inputs[index(mask)]) == "bool" ||
                             !may_mask_softmax(class_name, references.rank_of(call.inputs[0]),
                                               references.rank_of(call.inputs[index(mask)])),
                         "layer '{}' is given a mask of numbers, which a Softmax of Keras compares with 0.5 and other "
                         "layers with 0: give it a comparison, such as mask > 0.5",
                         part.layer->name());
  }
  require<Unsupported>(given.size() > 1 || given[0] != no_mask,
                       "layer '{}' is called without the mask of its input, which Keras' files cannot express: give it "
                       "a mask that is true everywhere",
                       part.layer->name());
  tensors.erase(tensors.begin() + static_cast<std::ptrdiff_t>(given.size()), tensors.end());
  if (!is_multi_head_attention(class_name)) {
    // Initial states of recurrent layers are another argument and have no masks.
    const bool is_one = masks.size() == 1 || is_recurrent(class_name);
    kwargs["mask"] = is_one ? Json(masks[0]) : std::move(masks);
    return;
  }
  constexpr std::array<const char*, 3> names{"query_mask", "value_mask", "key_mask"};
  for (std::size_t i = 0; i < names.size() && i < given.size(); ++i)
    if (given[i] >= 0) kwargs[names[i]] = masks[i];
}

/// A call of a layer or model. As in Keras, a single input is written as itself and several inputs as a list. The
/// inputs of MultiHeadAttention (query, value, key, mask) are separate arguments, the initial states of a recurrent
/// layer are the argument initial_state, and the weights of CategoryEncoding's ids are count_weights. The mask of
/// Softmax is its second argument, without a name: Keras would take a mask given by name for that of the result. Other
/// masks that the call is given have names.
Json node_config(const PartCall& call, const ModelPart& part, const References& references) {
  const std::string_view class_name = part.layer ? part.layer->impl().class_name() : std::string_view();
  Json tensors = Json::array();
  for (const PartResult& input : call.inputs) tensors.push_back(references.tensor(input));
  if (const OperationForm form = part.layer ? operation_form(part.layer->impl()) : OperationForm();
      form.args != nullptr) {
    Json given = *form.args;
    put_tensors(given, tensors);
    return {{"args", std::move(given)}, {"kwargs", Json::object()}};
  }
  Json args = Json::array();
  Json kwargs = Json::object();
  const bool attends = is_multi_head_attention(class_name);
  if (!call.given_masks.empty()) take_masks(call, part, references, tensors, kwargs);
  if (attends && tensors.size() == 4) {
    kwargs["attention_mask"] = tensors[3];
    tensors.erase(3);
  }
  if (is_recurrent(class_name) && tensors.size() > 1) {
    Json sequences = tensors[0];
    tensors.erase(0);
    kwargs["initial_state"] = std::move(tensors);
    tensors = Json::array({std::move(sequences)});
  }
  if (class_name == "CategoryEncoding" && tensors.size() > 1) {
    kwargs["count_weights"] = tensors[1];
    tensors.erase(1);
  }
  if (attends || class_name == "Softmax")
    args = std::move(tensors);
  else
    args.push_back(tensors.size() == 1 ? tensors[0] : std::move(tensors));
  if (is_attention(class_name) && call.shapes.size() > 1) kwargs["return_attention_scores"] = true;
  if (call.use_causal_mask) kwargs["use_causal_mask"] = true;
  if (call.mode) kwargs["training"] = *call.mode == Mode::train;
  return {{"args", std::move(args)}, {"kwargs", std::move(kwargs)}};
}

/// The model's inputs or outputs. As in Keras, a single one is written as itself and several as a list.
Json ends(const std::vector<PartResult>& results, const References& references) {
  Json list = Json::array();
  for (const PartResult& result : results) list.push_back(references.of(result, true));
  return list.size() == 1 ? list[0] : list;
}

Json part_config(const ModelPart& part) {
  if (part.layer) return layer_config(part.layer->impl(), part.layer->name());
  Json model = network_config(*part.model);
  model["name"] = part.model->name;
  model["inbound_nodes"] = Json::array();
  return model;
}

Json all_layers(const NestedModel& model, const References& references) {
  Json layers = Json::array();
  for (std::size_t i = 0; i < model.inputs.size(); ++i)
    layers.push_back(input_config(model.inputs[i], references.dtype_of({.call = -1 - static_cast<int>(i)})));
  const std::size_t first = layers.size();
  for (const ModelPart& part : model.layers) layers.push_back(part_config(part));
  if (model.class_name != "Sequential")
    for (const PartCall& call : model.calls) {
      const ModelPart& part = model.layers[index(call.part)];
      layers[first + index(call.part)]["inbound_nodes"].push_back(node_config(call, part, references));
    }
  return layers;
}

/// Whether a result in the model may have a mask.
bool may_have_masks(const NestedModel& model) {
  return std::ranges::any_of(model.calls, [](const PartCall& call) { return !call.given_masks.empty(); }) ||
         std::ranges::any_of(model.layers, [](const ModelPart& part) {
           return part.layer ? part.layer->impl().traits().makes_masks : may_have_masks(*part.model);
         });
}

/// The layer that computes the same in f32 as an operation with these arguments; empty if there is none.
std::optional<Layer> layer_for(std::string_view operation, const Json& args, const std::string& name) {
  const auto is_result = [](const Json& value) { return value.is_object() && value.contains("tensor"); };
  if (const auto affine = affine_form(operation, args, is_result))
    return Rescaling({.scale = {affine->first}, .offset = {affine->second}, .name = name});
  if (args != Json::array({{{"tensor", 0}}, {{"tensor", 1}}})) return {};
  if (operation == "Add") return Add(name);
  if (operation == "Subtract") return Subtract(name);
  if (operation == "Multiply") return Multiply(name);
  if (operation == "Maximum") return Maximum(name);
  if (operation == "Minimum") return Minimum(name);
  return {};
}

/// The model with layers in place of the operations that compute the same in f32. In contrast to operations, they pass
/// masks on.
NestedModel with_layers_for_operations(NestedModel model) {
  const ResultDTypes dtypes(model);
  std::set<int> others;  // parts that have results or arguments of other dtypes
  for (std::size_t i = 0; i < model.calls.size(); ++i) {
    std::vector<PartResult> tensors = model.calls[i].inputs;
    tensors.push_back({.call = static_cast<int>(i)});
    const auto is_f32 = [&](const PartResult& tensor) { return dtypes.of(tensor) == DType::f32; };
    if (!std::ranges::all_of(tensors, is_f32)) others.insert(model.calls[i].part);
  }
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    ModelPart& part = model.layers[i];
    if (part.model) {
      part.model = std::make_shared<const NestedModel>(with_layers_for_operations(*part.model));
      continue;
    }
    const OperationForm form = operation_form(part.layer->impl());
    if (form.args == nullptr || others.contains(static_cast<int>(i))) continue;
    const auto layer = with_dtype_policy(DTypePolicy::float32, [&] {
      return layer_for(part.layer->impl().class_name(), *form.args, part.layer->name());
    });
    if (layer) part.layer = layer;
  }
  return model;
}

/// Turns the model and its layers into the form of legacy files, where one class has another name. Throws Unsupported
/// for operations.
void make_legacy_model(Json& model) {
  for (Json& layer : model["config"]["layers"]) {
    const Json& module = layer["module"];
    require<Unsupported>(!module.is_string() || !module.get<std::string>().starts_with("keras.src.ops"),
                         "operation '{}' of class {}: .h5 files of whole models hold layers alone; save as .keras",
                         layer["name"].get<std::string>(), layer["class_name"].get<std::string>());
    if (layer["class_name"] == "GroupQueryAttention") layer["class_name"] = "GroupedQueryAttention";
    is_model(class_name_in(layer)) ? make_legacy_model(layer) : make_legacy(layer);
  }
  make_legacy(model);
}

std::string with_underscores(std::string name) {
  std::ranges::replace(name, '/', '_');
  return name;
}

}  // namespace

NestedModel with_file_names(const NestedModel& model, ConfigForm form) {
  NestedModel named = model;
  UniqueNames unique;
  if (form == ConfigForm::legacy_h5)
    for (const char* reserved : {".", "top_level_model_weights"}) unique.take(reserved);
  named.name = with_underscores(model.name);
  const auto is_taken = [&](const std::string& name) {
    return name.find('/') != std::string::npos || !unique.take(name);
  };
  std::vector<NetworkInput*> inputs;
  std::vector<ModelPart*> parts;
  for (NetworkInput& input : named.inputs)
    if (is_taken(input.name)) inputs.push_back(&input);
  for (ModelPart& part : named.layers) {
    if (part.model) part.model = std::make_shared<const NestedModel>(with_file_names(*part.model, ConfigForm::keras_3));
    if (is_taken(name_of(part))) parts.push_back(&part);
  }
  for (NetworkInput* const input : inputs) input->name = unique.make(with_underscores(input->name));
  for (ModelPart* const part : parts) {
    const std::string name = unique.make(with_underscores(name_of(*part)));
    if (part->layer) {
      part->layer = part->layer->with_name(name);
    } else {
      NestedModel renamed = *part->model;
      renamed.name = name;
      part->model = std::make_shared<const NestedModel>(std::move(renamed));
    }
  }
  return named;
}

Json network_config(const NestedModel& model, ConfigForm form) {
  if (form == ConfigForm::legacy_h5) {
    Json legacy = network_config(may_have_masks(model) ? model : with_layers_for_operations(model));
    make_legacy_model(legacy);
    return legacy;
  }
  const References references(model);
  const bool sequential = model.class_name == "Sequential";
  Json written = keras_object(sequential ? FileClass{"keras", "Sequential"}
                                         : FileClass{"keras.src.models.functional", "Functional", "Functional"});
  written["config"] = {{"name", model.name}, {"trainable", true}, {"layers", all_layers(model, references)}};
  if (!sequential) {
    std::vector<PartResult> inputs;
    for (std::size_t i = 0; i < model.inputs.size(); ++i) inputs.push_back({.call = -1 - static_cast<int>(i)});
    written["config"]["input_layers"] = ends(inputs, references);
    written["config"]["output_layers"] = ends(model.outputs, references);
  }
  return written;
}

}  // namespace lockstep
