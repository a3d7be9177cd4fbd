#include "lockstep/models/layers/layer_registry.h"

#include <lockstep/models/layers/keras_layers.h>
#include <lockstep/runtime/core/error.h>

namespace lockstep {

namespace {

const auto& all_makers() {
  static const auto makers = makers_of<Layer, LayerConfig>(keras_layers);
  return makers;
}

}  // namespace

bool is_layer_class(const std::string& class_name) { return all_makers().contains(class_name); }

Layer layer_from_config(LayerConfig& config) {
  const auto& makers = all_makers();
  const auto maker = makers.find(config.class_name());
  require<InputError>(maker != makers.end(), "layer '{}' is of class {}; known are {}", config.name(),
                      config.class_name(), names_of(makers));
  try {
    const Layer layer = maker->second(config);
    layer.impl().set_trainable(config.trainable());
    if (config.dtype_policy()) layer.impl().set_dtype_policy(*config.dtype_policy());
    return layer;
  } catch (const InvalidArgument& error) {  // invalid options
    fail<InputError>("layer '{}': {}", config.name(), error.what());
  }
}

}  // namespace lockstep
