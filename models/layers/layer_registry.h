#pragma once

#include <lockstep/models/layers/layer.h>
#include <lockstep/models/layers/layer_config.h>

namespace lockstep {

/// Makes a layer of the class and with the options that `config` reads. Throws InputError, naming the layer, for an
/// unknown class and for unknown or invalid options.
Layer layer_from_config(LayerConfig& config);

/// Whether files can hold layers of this class.
bool is_layer_class(const std::string& class_name);

}  // namespace lockstep
