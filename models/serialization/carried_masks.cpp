#include "lockstep/models/serialization/carried_masks.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include <fmt/core.h>

#include <lockstep/models/layers/attention.h>
#include <lockstep/models/layers/masking.h>
#include <lockstep/models/layers/recurrent_layer.h>
#include <lockstep/models/serialization/operations.h>
#include <lockstep/runtime/core/error.h>

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;

bool combines(std::string_view class_name) {
  constexpr std::array<std::string_view, 6> merges{"Add", "Average", "Maximum", "Minimum", "Multiply", "Subtract"};
  return std::ranges::find(merges, class_name) != merges.end();
}

/// The index of the input whose mask this argument of a call is, for arguments that are not lists.
std::size_t input_of_argument(const std::string& key) { return key == "value_mask" ? 1 : key == "key_mask" ? 2 : 0; }

/// An axis of a tensor of this rank, with -1 for the last axis.
int normal_axis(int axis, int rank) { return axis == rank - 1 ? -1 : axis < -1 ? axis + rank : axis; }

constexpr std::string_view named_mask =
    "the mask that a Softmax is given by name, which only in Keras is the mask of its result: give it in order, "
    "Softmax()(x, mask), or use an operation, such as x * 1, on the result";

Json option(const Json& layer, const char* key) { return layer.is_object() ? layer.value(key, Json()) : Json(); }

/// The rank of a tensor in the file, including the batch axis, if the file states its shape.
std::optional<int> rank_of(const Json& tensor) {
  const Json shape = option(option(tensor, "config"), "shape");
  return shape.is_array() ? std::optional(static_cast<int>(shape.size())) : std::nullopt;
}

/// The masks of an argument of a call, which may be a list.
Json masks_in(const Json& argument) { return argument.is_array() ? argument : Json::array({argument}); }

/// Throws InputError for a call that cannot be given masks other than those that its inputs carry. `input`: the first
/// one.
void check_given(const ParsedLayer& layer, const ParsedCall& call, const CarriedMasks::Given& given,
                 const Symbol& input) {
  require<InputError>(
      !layer.model,
      "model '{}' is called with a mask that is not the mask of its input: give it to the layers inside "
      "the model, as a further input",
      layer.name);
  require<InputError>(layer.class_name != "MultiHeadAttention" || !given.masks[0],
                      "layer '{}' is called with a query_mask that is not the mask of its query, which Keras ignores: "
                      "leave it out, or give an attention_mask",
                      layer.name);
  const int input_rank = input.shape().rank() + 1;
  for (const Json& argument : *call.masks)
    for (const Json& mask : masks_in(argument))
      require<InputError>(option(option(mask, "config"), "dtype") == "bool" ||
                              !may_mask_softmax(layer.class_name, input_rank, rank_of(mask).value_or(input_rank)),
                          "layer '{}' is called with a mask of numbers, which a Softmax of Keras compares with 0.5 and "
                          "other layers with 0: give it a comparison, such as mask > 0.5",
                          layer.name);
}

}  // namespace

int CarriedMasks::make(Formula formula) {
  for (const int mask : formula.of) {
    formula.dropped_by.insert(formulas_[mask].dropped_by.begin(), formulas_[mask].dropped_by.end());
    formula.is_named |= formulas_[mask].is_named;
  }
  const auto [number, is_new] = numbers_.try_emplace({formula.name, formula.of}, static_cast<int>(formulas_.size()));
  if (is_new) formulas_.push_back(std::move(formula));
  return number->second;
}

int CarriedMasks::not_equal(const Symbol& x, const Json& value) {
  const std::string compared = value.is_number() ? fmt::format("{}", value.get<double>()) : value.dump();
  return make({.name = fmt::format("{} != {}", x.node().number, compared), .rank = x.shape().rank() + 1});
}

int CarriedMasks::either(const std::vector<int>& masks) {
  std::vector<int> all;
  for (const int mask : masks) {
    if (formulas_[mask].name == "or")
      all.insert(all.end(), formulas_[mask].of.begin(), formulas_[mask].of.end());
    else if (formulas_[mask].name != "zeros")
      all.push_back(mask);
  }
  std::ranges::sort(all);
  all.erase(std::ranges::unique(all).begin(), all.end());
  if (all.empty()) return masks.front();
  return all.size() == 1 ? all.front() : make({.name = "or", .of = all, .rank = formulas_[all.front()].rank});
}

int CarriedMasks::concat(int axis, const std::vector<int>& masks) {
  const int rank = formulas_[masks.front()].rank;
  return make({.name = fmt::format("concat {}", normal_axis(axis, rank)), .of = masks, .rank = rank});
}

int CarriedMasks::expand(int mask) { return make({.name = "expand", .of = {mask}, .rank = formulas_[mask].rank + 1}); }

/// Whether any element along the last axis of the mask is true.
int CarriedMasks::any(int mask) {
  const auto [done, is_new] = any_.try_emplace(mask, 0);
  if (!is_new) return done->second;
  const Formula whole = formulas_[mask];
  int result = 0;
  if (whole.name == "expand") {
    result = whole.of.front();
  } else if (whole.name == "or" || whole.name.starts_with("concat")) {
    std::vector<int> parts;
    for (const int part : whole.of) parts.push_back(any(part));
    const bool joins_last = whole.name == "or" || whole.name == "concat -1";
    result = joins_last ? either(parts) : make({.name = whole.name, .of = parts, .rank = whole.rank - 1});
  } else {
    result = make({.name = "any", .of = {mask}, .rank = whole.rank - 1});
  }
  return any_[mask] = result;
}

int CarriedMasks::carried(const Symbol& symbol) const {
  const auto found = carried_.find(symbol.node().number);
  return found == carried_.end() ? 0 : found->second;
}

/// Whether Keras drops the mask that the symbol carries. Notes the operations that are to be kept for that.
bool CarriedMasks::reads_dropped(const Symbol& symbol) {
  const Operations& by = formulas_[carried(symbol)].dropped_by;
  to_keep_.insert(by.begin(), by.end());
  return !by.empty();
}

/// The mask of the result of a layer with several inputs, as Keras' layers compute it.
int CarriedMasks::joined(const ParsedLayer& layer, const std::vector<Symbol>& inputs) {
  std::vector<int> masks;
  for (const Symbol& input : inputs) masks.push_back(carried(input));
  const bool is_concat = layer.class_name == "Concatenate";
  const auto has_mask = [](int mask) { return mask != 0; };
  if (is_concat ? std::ranges::none_of(masks, has_mask) : !std::ranges::all_of(masks, has_mask)) return 0;
  if (!is_concat) return either(masks);
  for (std::size_t i = 0; i < masks.size(); ++i) {
    if (masks[i] == 0)
      masks[i] = ones_like(inputs[i]);
    else if (formulas_[masks[i]].rank <= inputs[i].shape().rank())
      masks[i] = expand(masks[i]);
  }
  const Json axis = option(*layer.values, "axis");
  return any(concat(axis.is_number_integer() ? axis.get<int>() : -1, masks));
}

void CarriedMasks::note(const ParsedLayer& layer, bool has_named_mask, std::optional<int> given,
                        const std::vector<Symbol>& inputs, const std::vector<Symbol>& results) {
  const Symbol& result = results.front();
  const LayerImpl& called = *result.node().layer;
  if (!called.traits().supports_masking) return;
  const std::string& name = layer.class_name;
  const int of_first = given.value_or(carried(inputs[0]));
  const bool has_mask = std::ranges::any_of(inputs, [&](const Symbol& input) { return carried(input) != 0; });
  int mask = 0;
  if (name == "Embedding")
    mask = not_equal(inputs[0], 0);
  else if (name == "Masking")
    mask = any(
        not_equal(inputs[0], option(*layer.values, "mask_value").is_null() ? Json(0) : (*layer.values)["mask_value"]));
  else if (layer.is_operation)
    mask = has_mask ? make({.name = fmt::format("of operation {}", result.node().number), .dropped_by = {&layer}}) : 0;
  else if (has_named_mask)
    mask = make(
        {.name = fmt::format("of call {}", result.node().number), .rank = result.shape().rank() + 1, .is_named = true});
  else if (is_recurrent(name))
    mask = result.shape().rank() == 2 ? of_first : 0;
  else if (name == "Concatenate" || combines(name))
    mask = joined(layer, inputs);
  else if (name != "GlobalAveragePooling1D" && name != "Dot")
    mask = of_first;
  for (std::size_t i = 0; i < results.size(); ++i)
    if (called.has_mask(static_cast<int>(i))) carried_[results[i].node().number] = mask;
}

struct CarriedMasks::Reading {
  const Json& operations;
  const Find& find;
  std::map<std::string, int> done{};

  const Symbol* symbol(const Json& value) const {
    return is_tensor(value) ? find(reference_of(history_of(value))) : nullptr;
  }
};

/// The mask that a value in the file stands for. For an operation that is not understood, a mask that no symbol
/// carries.
int CarriedMasks::named(const Json& value, Reading& reading, int depth) {
  constexpr int most = 1000;
  require<InputError>(depth < most, "a mask is computed by more than {} operations, one after another", most);
  const std::string name = is_tensor(value) ? history_of(value).at(0).get<std::string>() : std::string();
  if (!reading.operations.contains(name)) {
    const Symbol* const result = reading.symbol(value);
    if (result == nullptr) return unknown();
    return make({.name = fmt::format("result {}", result->node().number), .rank = result->shape().rank() + 1});
  }
  if (const auto found = reading.done.find(name); found != reading.done.end()) return found->second;
  return reading.done[name] = computed(reading.operations[name], reading, depth + 1);
}

int CarriedMasks::computed(const Json& operation, Reading& reading, int depth) {
  const auto class_name = operation.at("class_name").get<std::string>();
  const Json& options = operation.at("config");
  const Json& args = operation.at("inbound_nodes").at(0).at("args");
  const auto mask_of = [&](const Json& value) { return named(value, reading, depth); };
  const bool over_last = option(options, "axis") == -1;
  if (class_name == "NotEqual") {
    if (const Symbol* const x = reading.symbol(args.at(0))) return not_equal(*x, args.at(1));
  } else if (class_name == "LogicalOr") {
    return either({mask_of(args.at(0)), mask_of(args.at(1))});
  } else if (class_name == "ConvertToTensor") {
    return mask_of(args.at(0));
  } else if (class_name == "Any" && over_last) {
    const int mask = any(mask_of(args.at(0)));
    return option(options, "keepdims") == true ? expand(mask) : mask;
  } else if (class_name == "ExpandDims" && over_last) {
    return expand(mask_of(args.at(0)));
  } else if (class_name == "Squeeze" && over_last) {
    if (const Formula& whole = formulas_[mask_of(args.at(0))]; whole.name == "expand") return whole.of.front();
  } else if (class_name == "ZerosLike") {
    return make({.name = "zeros"});
  } else if (class_name == "OnesLike") {
    if (const Symbol* const x = reading.symbol(args.at(0))) return ones_like(*x);
  } else if (class_name == "Concatenate" && args.at(0).is_array() && !args.at(0).empty()) {
    std::vector<int> parts;
    for (const Json& part : args.at(0)) parts.push_back(mask_of(part));
    return concat(options.value("axis", -1), parts);
  }
  return unknown();
}

CarriedMasks::Given CarriedMasks::masks_of_call(const ParsedLayer& layer, const ParsedCall& call,
                                                const std::vector<Symbol>& inputs, const Json* operations,
                                                const Find& find) {
  const bool has_masks = call.masks && operations != nullptr;
  // In Keras, such calls read only a mask that they are given.
  const bool reads_given = inputs.size() > 1 && (is_recurrent(layer.class_name) || layer.class_name == "Softmax");
  if (!has_masks && (layer.is_operation || !reads_masks(layer.class_name) || reads_given)) return {};
  if (std::ranges::any_of(inputs, [&](const Symbol& input) { return reads_dropped(input); })) return {};
  for (const Symbol& input : inputs)
    require<InputError>(!formulas_[carried(input)].is_named, "layer '{}' would read {}", layer.name, named_mask);
  if (!has_masks) return {};
  Reading reading{.operations = *operations, .find = find};
  Given given{.masks = std::vector<std::optional<ParsedReference>>(inputs.size()), .of_first = 0};
  bool differ = reads_given;
  for (const auto& [key, value] : call.masks->items()) {
    const Json masks = masks_in(value);
    const std::size_t first = input_of_argument(key);
    require<InputError>(first + masks.size() <= inputs.size(),
                        "layer '{}' is called with a {} of more masks than inputs", layer.name, key);
    for (std::size_t i = 0; i < masks.size(); ++i) {
      const int mask = masks[i].is_null() ? 0 : named(masks[i], reading, 0);
      const bool differs = mask != carried(inputs[first + i]) && !(layer.model && masks[i].is_null());
      differ = differ || differs;
      if (first + i == 0) given.of_first = mask;
      if (mask != 0 && (differs || !is_multi_head_attention(layer.class_name)))
        given.masks[first + i] = reference_of(history_of(masks[i]));
    }
  }
  if (!differ) return {};
  check_given(layer, call, given, inputs[0]);
  if (is_multi_head_attention(layer.class_name)) given.of_first.reset();
  if (call.key_is_value && inputs.size() > 2 && !call.masks->contains("key_mask")) given.masks[2] = given.masks[1];
  return given;
}

void CarriedMasks::check_output(const Symbol& output) {
  require<InputError>(reads_dropped(output) || !formulas_[carried(output)].is_named, "the model's output would have {}",
                      named_mask);
}

}  // namespace lockstep
