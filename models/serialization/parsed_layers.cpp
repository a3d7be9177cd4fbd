#include "lockstep/models/serialization/parsed_layers.h"

#include <limits>
#include <optional>

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <lockstep/models/layers/layer_registry.h>
#include <lockstep/models/layers/operation.h>

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t most_elements = std::numeric_limits<std::int32_t>::max();

bool is_size(const Json& value) {
  return value.is_number_integer() && value.get<std::int64_t>() >= 1 && value.get<std::int64_t>() <= most_elements;
}

}  // namespace

Json batch_shape_of(const ParsedLayer& input) {
  return input.values->value("batch_shape", input.values->value("batch_input_shape", Json()));
}

std::int64_t batch_size_of(const Json& batch_shape) {
  return batch_shape.is_array() && !batch_shape.empty() && is_size(batch_shape[0]) ? batch_shape[0].get<std::int64_t>()
                                                                                   : 0;
}

Symbol input_of(const ParsedLayer& layer) {
  const Json found = batch_shape_of(layer);
  require<InputError>(found.is_array() && !found.empty(), "input '{}' has no shape: its model was never built",
                      layer.name);
  require<InputError>(found.size() <= static_cast<std::size_t>(Shape::max_rank),
                      "input '{}' has {} axes, at most {} can be", layer.name, found.size(), Shape::max_rank);
  Shape shape;
  for (std::size_t axis = 1; axis < found.size(); ++axis) {
    require<InputError>(found[axis].is_null() || is_size(found[axis]),
                        "input '{}' is {}; sizes are whole numbers of at least 1, or null", layer.name, found.dump());
    shape.push_back(found[axis].is_null() ? -1 : found[axis].get<std::int64_t>());
  }
  Symbol input = Input(shape, layer.name, batch_size_of(found));
  check_example(input, layer.name);
  return input;
}

Layer layer_of(const ParsedLayer& entry, const std::string& name, int input_rank, bool frozen, bool is_kept) {
  if (const std::optional<ParsedOperation>& operation = entry.operation; operation && (is_kept || !entry.is_layer)) {
    Json options = *operation->options;
    options.erase("name");
    return operation_layer(operation->class_name, options, *operation->arguments, 0, name);
  }
  require<InputError>(!entry.is_operation || entry.operation || layer_classes().is_keras(entry.class_name),
                      "operation '{}' of class {} cannot be read; build the model of layers and of the operations {}",
                      name, entry.class_name, fmt::join(operation_names(), ", "));
  Json values = *entry.values;
  if (values.is_object()) {
    values["name"] = name;
    if (frozen) values["trainable"] = false;
  }
  LayerConfig config(entry.class_name, values, input_rank);
  return layer_from_config(config);
}

void check_example(const Symbol& symbol, const std::string& layer) {
  const Shape& shape = symbol.node().examples[1];
  const std::int64_t most = is_known(symbol.shape()) ? most_elements : std::int64_t{1} << 58;
  std::int64_t elements = 1;
  for (const std::int64_t size : shape)
    require<InputError>(size <= most_elements && !__builtin_mul_overflow(elements, size, &elements) && elements <= most,
                        "layer '{}' makes {} of each example, which is more than {} numbers", layer, shape, most);
}

}  // namespace lockstep
