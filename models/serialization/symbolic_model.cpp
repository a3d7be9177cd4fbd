#include "lockstep/models/serialization/symbolic_model.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <lockstep/models/layers/attention.h>
#include <lockstep/models/layers/naming.h>
#include <lockstep/models/layers/operation.h>
#include <lockstep/models/serialization/carried_masks.h>
#include <lockstep/models/serialization/parsed_layers.h>
#include <lockstep/models/serialization/parsed_model.h>

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;

class ModelGraph;

/// A layer or nested model of a model in the file. Layers are created at their first call, when the shapes of their
/// inputs are known.
struct Member {
  const ParsedLayer* config;
  std::string name;  ///< the layer's name in the network
  std::string group;
  std::string top_level;
  bool frozen = false;  ///< the outermost model is not trainable
  std::optional<Layer> layer{};
  std::shared_ptr<ModelGraph> model{};
};

/// State shared by all models of a file.
struct Opening {
  const CarriedMasks::Operations& kept;                      ///< operations that are not loaded as layers
  UniqueNames names{};                                       ///< names of the network's layers
  std::map<std::int64_t, std::shared_ptr<Member>> shared{};  ///< layers that several entries of the file refer to
  std::vector<std::shared_ptr<Member>> layers{};             ///< in the file's order, without models
  int calls = 0;                                             ///< number of calls of layers and models made so far
  CarriedMasks masks{};                                      ///< masks of all results
};

/// Location of a model in the file; empty for the outermost model.
struct ModelPlace {
  std::string group{};  ///< prefix of its layers' groups
  std::string top_level{};
  std::string model{};       ///< name of the model
  std::string class_name{};  ///< Functional or Sequential
  bool frozen = false;       ///< the outermost model is not trainable
};

/// The context of a call.
struct Within {
  std::shared_ptr<const ModelCall> part_of{};  ///< call of the outermost nested model around it; null outside of any
  std::vector<Symbol>* made = nullptr;         ///< receives all symbols created in that call
  std::optional<bool> training{};              ///< the innermost `training` argument, if any
  bool use_causal_mask = false;                ///< the call's own argument
  bool return_attention_scores = false;        ///< the call's own argument
  bool has_named_mask = false;                 ///< the call's own property
  CallMasks masks{};                           ///< the masks that the call is given
  std::optional<int> mask_of_first{};          ///< CarriedMasks::Given::of_first
};

/// A model of the file. All calls of the model share its layers.
class ModelGraph {
 public:
  ModelGraph(Opening& opening, const ParsedModel& config, const ModelPlace& place);

  std::vector<Symbol> make_inputs() const;
  std::vector<Symbol> call(const std::vector<Symbol>& inputs, const Within& within) const;

 private:
  /// Results in one call of this model: for each layer, the symbols of each of its calls.
  using Results = std::map<std::string, std::vector<std::vector<Symbol>>>;

  std::shared_ptr<Member> member_of(const ParsedLayer& layer, const std::string& group, const ModelPlace& place) const;
  /// The first reference whose result does not exist yet; null if all exist.
  static const ParsedReference* first_missing(const std::vector<ParsedReference>& references, const Results& results);
  /// The referenced results. Precondition: first_missing is null.
  static std::vector<Symbol> find(const std::vector<ParsedReference>& references, const Results& results);
  CarriedMasks::Given masks_of_call(const ParsedLayer& layer, const ParsedCall& call, const std::vector<Symbol>& inputs,
                                    const Results& results) const;
  /// Sets the inputs of the call of a layer and the masks that it is given. If a result does not exist yet, returns the
  /// reference to it, which is empty otherwise.
  std::optional<ParsedReference> prepare(const ParsedLayer& layer, const ParsedCall& call, const Results& results,
                                         std::vector<Symbol>& inputs, Within& within) const;

  /// Limits the number of calls, because a few nested models that are each called twice can stand for more layers than
  /// fit in memory.
  void count_call() const {
    constexpr int most_calls = 100'000;
    require<InputError>(++opening_.calls <= most_calls, "model '{}': its layers are called more than {} times in all",
                        config_.name, most_calls);
  }

  std::vector<Symbol> call_member(Member& member, const std::vector<Symbol>& inputs, Within within) const;
  /// Calls the layers.
  Results run(const std::vector<Symbol>& inputs, const Within& within) const;
  /// The batch_shape of an input in the file; null if there is none.
  Json declared_shape(const ParsedReference& input) const;
  /// Whether an input in the file has sizes that differ between calls.
  bool has_unknown_sizes() const;
  /// Whether each input in the file has a batch size of 1.
  bool has_batches_of_one() const {
    return std::ranges::all_of(config_.inputs,
                               [&](const ParsedReference& input) { return batch_size_of(declared_shape(input)) == 1; });
  }
  /// Fills nested_, the model's description, from the first call or, if the file's input shapes have unknown sizes,
  /// from another call on inputs of those shapes.
  void describe(const std::vector<Symbol>& inputs, const Results& results) const;

  Opening& opening_;
  const ParsedModel& config_;
  std::vector<std::shared_ptr<Member>> members_;        ///< null for inputs
  std::map<std::string, std::size_t> mask_operations_;  ///< indices of the operations that compute only masks, by name
  std::shared_ptr<NestedModel> nested_;
};

Mode mode_of(bool training) { return training ? Mode::train : Mode::inference; }

std::string name_in_network(Opening& opening, const std::string& name, const std::string& model) {
  return opening.names.take(name) ? name : opening.names.make(fmt::format("{}_{}", model, name));
}

/// The model inside an old multi_gpu_model, at any depth of nesting, whose location becomes `place`. Returns other
/// models unchanged.
const ParsedModel& without_replicas(const ParsedModel& model, ModelPlace& place) {
  const ParsedLayer* const replicated = template_of_replicas(model);
  if (replicated == nullptr) return model;
  place.group += fmt::format("layers/{}/", replicated->group);
  if (place.top_level.empty()) place.top_level = replicated->name;
  return without_replicas(*replicated->model, place);
}

ModelGraph::ModelGraph(Opening& opening, const ParsedModel& config, const ModelPlace& place)
    : opening_(opening),
      config_(config),
      nested_(std::make_shared<NestedModel>(NestedModel{.name = place.model, .class_name = place.class_name})) {
  std::map<std::string, int> used;
  for (const ParsedLayer& layer : config.layers) {
    if (layer.only_masks) mask_operations_.emplace(layer.name, members_.size());
    if (layer.class_name == "InputLayer") {
      members_.push_back(nullptr);
      continue;
    }
    const int count = used[layer.group]++;
    const std::string group =
        fmt::format("{}layers/{}", place.group, count == 0 ? layer.group : fmt::format("{}_{}", layer.group, count));
    members_.push_back(member_of(layer, group, place));
  }
}

std::shared_ptr<Member> ModelGraph::member_of(const ParsedLayer& layer, const std::string& group,
                                              const ModelPlace& place) const {
  if (layer.shared_id && opening_.shared.contains(*layer.shared_id)) {
    const std::shared_ptr<Member>& shared = opening_.shared.at(*layer.shared_id);
    require<InputError>(shared->model || !shared->config->model, "model '{}' is a layer of itself", layer.name);
    return shared;
  }
  const std::string& top_level = place.top_level.empty() ? layer.name : place.top_level;
  const bool is_outermost = place.model.empty();
  const bool frozen = place.frozen || (is_outermost && !config_.trainable);
  auto member = std::make_shared<Member>(
      Member{.config = &layer, .name = layer.name, .group = group, .top_level = top_level, .frozen = frozen});
  if (layer.shared_id) opening_.shared.emplace(*layer.shared_id, member);
  if (layer.model) {
    ModelPlace inner{.group = group + "/",
                     .top_level = top_level,
                     .model = layer.name,
                     .class_name = layer.class_name == "Sequential" ? "Sequential" : "Functional",
                     .frozen = frozen};
    const ParsedModel& model = without_replicas(*layer.model, inner);
    member->model = std::make_shared<ModelGraph>(opening_, model, inner);
  } else {
    if (!place.model.empty()) member->name = name_in_network(opening_, layer.name, place.model);
    opening_.layers.push_back(member);
  }
  return member;
}

std::vector<Symbol> ModelGraph::make_inputs() const {
  std::vector<Symbol> inputs;
  for (const ParsedReference& input : config_.inputs) {
    const auto layer = std::ranges::find(config_.layers, input.layer, &ParsedLayer::name);
    require<InputError>(layer != config_.layers.end() && layer->class_name == "InputLayer",
                        "the model's input '{}' is not one of its layers", input.layer);
    inputs.push_back(input_of(*layer));
  }
  return inputs;
}

/// `of_one`: whether each batch has one example.
Symbol call_layer(Member& member, const std::vector<Symbol>& inputs, const Within& within, bool of_one,
                  const CarriedMasks::Operations& kept) {
  require<InputError>(member.config->refusal.empty(), "a layer is called with a mask that it would have to compute: {}",
                      member.config->refusal);
  require<InputError>(!inputs.empty(), "a call of layer '{}' has no inputs", member.name);
  if (!member.layer)
    member.layer = layer_of(*member.config, member.name, inputs.front().shape().rank() + 1, member.frozen,
                            kept.contains(member.config));
  for (const Symbol& input : inputs)
    require<InputError>(
        !member.config->is_operation || operation_form(member.layer->impl()).args != nullptr || of_one ||
            input.shape().rank() == inputs.front().shape().rank(),
        "operation '{}' takes inputs of one rank, got {} and {}: Keras would align the batch axis of one with another "
        "axis of the other; insert axes of size 1 by Reshape or ExpandDims first",
        member.name, inputs.front().shape(), input.shape());
  try {
    const Symbol result = (*member.layer)(inputs, within.masks);
    if (within.use_causal_mask) check_causal_call(member.layer->impl(), inputs.front().shape());
    check_example(result, member.name);
    return result;
  } catch (const InvalidArgument& error) {
    fail<InputError>("layer '{}': {}", member.name, error.what());
  }
}

const ParsedReference* ModelGraph::first_missing(const std::vector<ParsedReference>& references,
                                                 const Results& results) {
  const auto missing = std::ranges::find_if(references, [&](const ParsedReference& reference) {
    const auto of_layer = results.find(reference.layer);
    return of_layer == results.end() || of_layer->second.size() <= reference.call;
  });
  return missing == references.end() ? nullptr : &*missing;
}

std::vector<Symbol> ModelGraph::find(const std::vector<ParsedReference>& references, const Results& results) {
  std::vector<Symbol> found;
  for (const ParsedReference& reference : references) {
    const std::vector<Symbol>& of_call = results.at(reference.layer)[reference.call];
    require<InputError>(reference.result < of_call.size(),
                        "layer '{}' has {} result(s), the model uses result {}, counted from 0", reference.layer,
                        of_call.size(), reference.result);
    found.push_back(of_call[reference.result]);
  }
  return found;
}

CarriedMasks::Given ModelGraph::masks_of_call(const ParsedLayer& layer, const ParsedCall& call,
                                              const std::vector<Symbol>& inputs, const Results& results) const {
  return opening_.masks.masks_of_call(layer, call, inputs, config_.mask_operations.get(),
                                      [&](const ParsedReference& reference) -> const Symbol* {
                                        const auto of_layer = results.find(reference.layer);
                                        if (of_layer == results.end() || reference.call >= of_layer->second.size())
                                          return nullptr;
                                        const std::vector<Symbol>& symbols = of_layer->second[reference.call];
                                        return reference.result < symbols.size() ? &symbols[reference.result] : nullptr;
                                      });
}

std::optional<ParsedReference> ModelGraph::prepare(const ParsedLayer& layer, const ParsedCall& call,
                                                   const Results& results, std::vector<Symbol>& inputs,
                                                   Within& within) const {
  for (const auto* references : {&call.inputs, &call.mask_sources})
    if (const ParsedReference* const missing = first_missing(*references, results)) return *missing;
  inputs = find(call.inputs, results);
  const CarriedMasks::Given given = masks_of_call(layer, call, inputs, results);
  within.mask_of_first = given.of_first;
  within.masks.clear();
  for (const std::optional<ParsedReference>& mask : given.masks) {
    if (mask && first_missing({*mask}, results) != nullptr) return mask;
    within.masks.push_back(mask ? std::optional(find({*mask}, results).front()) : std::nullopt);
  }
  return {};
}

std::vector<Symbol> ModelGraph::call_member(Member& member, const std::vector<Symbol>& inputs, Within within) const {
  count_call();
  if (member.model) {
    if (within.part_of) return member.model->call(inputs, within);
    const auto outermost =
        std::make_shared<ModelCall>(ModelCall{.model = member.model->nested_, .inputs = numbers_of(inputs)});
    if (within.training) outermost->mode = mode_of(*within.training);
    std::vector<Symbol> made;
    within.part_of = outermost;
    within.made = &made;
    const std::vector<Symbol> results = member.model->call(inputs, within);
    outermost->results = numbers_of(results);
    return with_unread(results, made, inputs);
  }
  const Symbol first =
      edited(call_layer(member, inputs, within, has_batches_of_one(), opening_.kept), [&](Symbol::Node& node) {
        node.part_of = within.part_of;
        node.use_causal_mask = within.use_causal_mask;
        if (within.training) node.mode = mode_of(*within.training);
      });
  // Weights that nothing reads are left out, because a model inside another one computes all of its results.
  const bool one = is_attention(member.config->class_name) && !within.return_attention_scores;
  std::vector<Symbol> results = one ? std::vector{first} : results_of(first);
  opening_.masks.note(*member.config, within.has_named_mask, within.mask_of_first, inputs, results);
  if (within.made) within.made->insert(within.made->end(), results.begin(), results.end());
  return results;
}

/// Describes the results of a layer's call and the masks that it is given. `part_of`: by the number of the symbol.
void describe_results(const std::vector<Symbol>& results, const std::map<std::uint64_t, PartResult>& part_of,
                      PartCall& described) {
  for (const Symbol& result : results) described.shapes.push_back(result.shape());
  const Symbol::Node& call = results.front().node();
  described.given_masks = call.given_masks;
  for (std::size_t mask = described.inputs.size(); mask < call.inputs.size(); ++mask)
    described.inputs.push_back(part_of.at(call.inputs[mask].node().number));
}

void ModelGraph::describe(const std::vector<Symbol>& inputs, const Results& results) const {
  std::map<std::string, int> first_call;        // number of each layer's first call; -1 - i for input i
  std::map<std::uint64_t, PartResult> part_of;  // by the number of the symbol
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    nested_->inputs.push_back({.name = config_.inputs[i].layer,
                               .shape = inputs[i].shape(),
                               .batch_size = batch_size_of(declared_shape(config_.inputs[i]))});
    first_call[config_.inputs[i].layer] = -1 - static_cast<int>(i);
    part_of[inputs[i].node().number] = {.call = -1 - static_cast<int>(i)};
  }
  int calls = 0;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    const std::string& name = config_.layers[i].name;
    if (members_[i] == nullptr || !results.contains(name)) continue;
    require<InputError>(first_call.emplace(name, calls).second, "model '{}' has two layers of the name '{}'",
                        config_.name, name);
    for (const std::vector<Symbol>& of_call : results.at(name)) {
      for (std::size_t result = 0; result < of_call.size(); ++result)
        part_of.try_emplace(of_call[result].node().number,
                            PartResult{.call = calls, .result = static_cast<int>(result)});
      ++calls;
    }
  }
  const auto result_of = [&](const ParsedReference& reference) {
    const int first = first_call.at(reference.layer);
    return PartResult{.call = first < 0 ? first : first + static_cast<int>(reference.call),
                      .result = static_cast<int>(reference.result)};
  };
  for (std::size_t i = 0; i < members_.size(); ++i) {
    const ParsedLayer& layer = config_.layers[i];
    if (members_[i] == nullptr || !results.contains(layer.name)) continue;
    const std::vector<std::vector<Symbol>>& made = results.at(layer.name);
    for (std::size_t call = 0; call < made.size(); ++call) {
      PartCall& described = nested_->calls.emplace_back();
      described.part = static_cast<int>(nested_->layers.size());
      for (const ParsedReference& input : layer.calls[call].inputs) described.inputs.push_back(result_of(input));
      if (members_[i]->layer) describe_results(made[call], part_of, described);
      described.use_causal_mask = layer.calls[call].use_causal_mask;
      if (layer.calls[call].training) described.mode = mode_of(*layer.calls[call].training);
    }
    if (members_[i]->model)
      nested_->layers.push_back({.model = members_[i]->model->nested_});
    else if (!made.empty())
      nested_->layers.push_back({.layer = members_[i]->layer->with_name(layer.name)});
  }
  for (const ParsedReference& output : config_.outputs) nested_->outputs.push_back(result_of(output));
}

ModelGraph::Results ModelGraph::run(const std::vector<Symbol>& inputs, const Within& within) const {
  Results results;
  for (std::size_t i = 0; i < inputs.size(); ++i) results[config_.inputs[i].layer] = {{inputs[i]}};
  // A shared layer may read the result of a later layer, so one pass over the layers is not enough. Each pass calls
  // layers as far as their inputs exist; layers that wait for another one are retried only after it was called.
  std::map<std::string, std::vector<std::size_t>> waiting;  // by the name of the layer they wait for
  std::set<std::size_t> pass;
  std::set<std::size_t> next_pass;
  for (std::size_t i = 0; i < members_.size(); ++i)
    if (members_[i] != nullptr && !config_.layers[i].only_masks) pass.insert(i);
  for (; !pass.empty(); pass = std::exchange(next_pass, {})) {
    while (!pass.empty()) {
      const std::size_t i = pass.extract(pass.begin()).value();
      const ParsedLayer& layer = config_.layers[i];
      auto& done = results[layer.name];
      const std::size_t before = done.size();
      while (done.size() < layer.calls.size()) {
        const ParsedCall& call = layer.calls[done.size()];
        // The argument of a layer's own call overrides that of the model around it.
        Within inside = within;
        if (call.training) inside.training = call.training;
        inside.use_causal_mask = call.use_causal_mask;
        inside.return_attention_scores = call.return_attention_scores;
        inside.has_named_mask = call.has_named_mask;
        std::vector<Symbol> inputs;
        if (const std::optional<ParsedReference> missing = prepare(layer, call, results, inputs, inside)) {
          waiting[missing->layer].push_back(i);
          const auto operation = mask_operations_.find(missing->layer);
          if (operation != mask_operations_.end() && !results.contains(missing->layer))
            (operation->second > i ? pass : next_pass).insert(operation->second);
          break;
        }
        done.push_back(call_member(*members_[i], inputs, inside));
      }
      if (done.size() == before) continue;
      for (const std::size_t waiter : std::exchange(waiting[layer.name], {}))
        (waiter > i ? pass : next_pass).insert(waiter);
    }
  }
  require<InputError>(first_missing(config_.outputs, results) == nullptr,
                      "model '{}': its outputs depend on a layer that is missing or depends on itself", config_.name);
  return results;
}

Json ModelGraph::declared_shape(const ParsedReference& input) const {
  const auto layer = std::ranges::find(config_.layers, input.layer, &ParsedLayer::name);
  return layer == config_.layers.end() || !layer->values->is_object() ? Json() : batch_shape_of(*layer);
}

bool ModelGraph::has_unknown_sizes() const {
  bool has_any = false;
  for (const ParsedReference& input : config_.inputs) {
    const Json shape = declared_shape(input);
    if (!shape.is_array()) return false;
    for (std::size_t axis = 1; axis < shape.size(); ++axis) has_any = has_any || shape[axis].is_null();
  }
  return has_any;
}

std::vector<Symbol> ModelGraph::call(const std::vector<Symbol>& inputs, const Within& within) const {
  require<InputError>(inputs.size() == config_.inputs.size(), "model '{}' has {} inputs, it is called on {}",
                      config_.name, config_.inputs.size(), inputs.size());
  if (within.part_of && nested_->calls.empty() && has_unknown_sizes()) {
    const std::vector<Symbol> any = make_inputs();
    describe(any, run(any, {.part_of = within.part_of}));
  }
  const Results results = run(inputs, within);
  if (nested_->calls.empty()) describe(inputs, results);
  return find(config_.outputs, results);
}

std::vector<SavedLayer> made_layers(const Opening& opening) {
  std::vector<SavedLayer> layers;
  for (const std::shared_ptr<Member>& member : opening.layers) {
    if (!member->layer && member->config->only_masks) continue;
    require<InputError>(member->layer.has_value(), "layer '{}' is never called", member->name);
    layers.push_back({.layer = *member->layer, .group = member->group, .top_level = member->top_level});
  }
  return layers;
}

SymbolicModel open_parsed(const ParsedModel& config, const ModelPlace& place, Opening& opening) {
  for (const ParsedLayer& layer : config.layers)
    if (!layer.model) opening.names.take(layer.name);
  const ModelGraph graph(opening, config, place);
  SymbolicModel result{.name = config.name, .inputs = graph.make_inputs(), .outputs = {}, .layers = {}};
  result.outputs = graph.call(result.inputs, {});
  for (const Symbol& output : result.outputs) opening.masks.check_output(output);
  result.layers = made_layers(opening);
  return result;
}

SymbolicModel open_model(const Json& model) {
  const ParsedModel whole = parse_model_config(model);
  ModelPlace place;
  const ParsedModel& config = without_replicas(whole, place);
  CarriedMasks::Operations kept;
  while (true) {
    Opening opening{.kept = kept};
    SymbolicModel result = open_parsed(config, place, opening);
    if (opening.masks.to_keep().empty()) return result;
    for (const ParsedLayer* const operation : opening.masks.to_keep())
      require<InputError>(kept.insert(operation).second,
                          "operation '{}' of class {} has a result without a mask in Keras, which a layer or an output "
                          "would get here: make another operation for each call",
                          operation->name, operation->class_name);
  }
}

}  // namespace

SymbolicModel model_from_config(const Json& model) {
  try {
    return open_model(model);
  } catch (const Json::exception& error) {
    fail<InputError>("the model's configuration is not one that Keras writes: {}", error.what());
  }
}

}  // namespace lockstep
