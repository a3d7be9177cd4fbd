#include "lockstep/models/layers/layer_registry.h"

#include <nlohmann/json.hpp>

#include <lockstep/models/layers/inner_model.h>
#include <lockstep/models/layers/keras_layers.h>
#include <lockstep/runtime/core/error.h>

namespace lockstep {

using Json = nlohmann::ordered_json;

ClassRegistry<Layer, LayerConfig>& layer_classes() {
  static ClassRegistry<Layer, LayerConfig> classes("keras.layers", makers_of<Layer, LayerConfig>(keras_layers),
                                                   makers_of<Layer, LayerConfig>(layers_of_applications));
  return classes;
}

Layer layer_from_config(LayerConfig& config) {
  const auto maker = layer_classes().find(config.class_name());
  require<InputError>(
      maker != nullptr,
      "layer '{}' is of class {}; known are {}; register a class of your own with register_keras_serializable",
      config.name(), config.class_name(), layer_classes().known_names());
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
  if (Json model = inner_model_json(layer); !model.is_null()) return model;
  const LayerConfig config(layer, name);
  const std::string& class_name = config.class_name();
  const FileClass file_class = config.module().empty() ? layer_classes().file_class("layer '" + name + "'", class_name)
                                                       : FileClass{config.module(), class_name, class_name};
  return object_json(file_class, config.written(), ConfigForm::keras_3);
}

}  // namespace lockstep
