#include "lockstep/models/graph/symbol_operations.h"

#include <nlohmann/json.hpp>

#include <lockstep/models/layers/operation.h>

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;

/// Parses `text`. An empty text is null.
Json parsed(std::string_view class_name, std::string_view text) {
  if (text.empty()) return {};
  Json value = Json::parse(text, nullptr, false);
  require(value.is_structured(), "operation {}: arguments are a JSON object and a JSON list, got {}", class_name, text);
  return value;
}

}  // namespace

std::vector<Symbol> operation_results(std::string_view class_name, const std::vector<Symbol>& inputs,
                                      std::string_view options, std::string_view args) {
  return operation_layer(class_name, parsed(class_name, options), parsed(class_name, args), inputs.size())
      .results(inputs);
}

Symbol operation(std::string_view class_name, const std::vector<Symbol>& inputs, std::string_view options,
                 std::string_view args) {
  return operation_results(class_name, inputs, options, args).front();
}

Symbol slice(const Symbol& x, int axis, std::int64_t begin, std::int64_t end) {
  const int rank = x.shape().rank() + 1;
  const int own = axis < 0 ? axis + rank : axis;
  require(own >= 1 && own < rank, "slice of a symbol {} takes an axis of 1 to {}, not the batch axis, got {}",
          x.shape(), rank - 1, axis);
  const auto key = [](const Json& start, const Json& stop) {
    return Json{{"class_name", "__slice__"}, {"config", {{"start", start}, {"stop", stop}, {"step", nullptr}}}};
  };
  Json keys = Json::array();
  for (int before = 0; before < own; ++before) keys.push_back(key(nullptr, nullptr));
  keys.push_back(key(begin, end));
  return operation_layer("GetItem", Json::object(), Json::array({Json{{"tensor", 0}}, keys}), 1)(x);
}

}  // namespace lockstep
