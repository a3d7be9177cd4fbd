#include "lockstep/models/layers/layer_registry.h"

#include <nlohmann/json.hpp>

#include <lockstep/models/layers/keras_layers.h>
#include <lockstep/runtime/core/error.h>

namespace lockstep {

namespace {

using Json = nlohmann::ordered_json;

FileClass file_class_of(const LayerImpl& layer, const std::string& name) {
  const std::string class_name(layer.class_name());
  const auto of_applications = [&](const char* module) { return FileClass{module, class_name, class_name}; };
  if (class_name == "LayerScale" || class_name == "StochasticDepth")
    return of_applications("keras.src.applications.convnext");
  if (class_name == "CustomScaleLayer") return of_applications("keras.src.applications.inception_resnet_v2");
  return layer_classes().file_class("layer '" + name + "'", class_name);
}

}  // namespace

ClassRegistry<Layer, LayerConfig>& layer_classes() {
  static ClassRegistry<Layer, LayerConfig> classes("keras.layers", makers_of<Layer, LayerConfig>(keras_layers));
  return classes;
}

Layer layer_from_config(LayerConfig& config) {
  const auto maker = layer_classes().find(config.class_name());
  require<InputError>(maker != nullptr, "layer '{}' is of class {}; known are {}", config.name(), config.class_name(),
                      layer_classes().known_names());
  try {
    const Layer layer = maker(config);
    layer.impl().set_trainable(config.trainable());
    if (config.dtype_policy()) layer.impl().set_dtype_policy(*config.dtype_policy());
    return layer;
  } catch (const InvalidArgument& error) {  // invalid options
    fail<InputError>("layer '{}': {}", config.name(), error.what());
  }
}

Json layer_json(const LayerImpl& layer, const std::string& name) {
  const Json options = written_config(layer, name);
  return object_json(file_class_of(layer, name), options, ConfigForm::keras_3);
}

}  // namespace lockstep
