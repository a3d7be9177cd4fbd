#pragma once

#include <lockstep/models/config/class_registry.h>
#include <lockstep/models/layers/layer.h>
#include <lockstep/models/layers/layer_config.h>

namespace lockstep {

/// The classes of layers that files can hold.
ClassRegistry<Layer, LayerConfig>& layer_classes();

/// Makes a layer of the class and with the options that `config` reads. Throws InputError, naming the layer, for an
/// unknown class and for unknown or invalid options.
Layer layer_from_config(LayerConfig& config);

/// The layer, under this name, as an object in Keras 3's form. Throws Unsupported, naming the layer, if files cannot
/// hold it.
nlohmann::ordered_json layer_json(const LayerImpl& layer, const std::string& name);

}  // namespace lockstep
