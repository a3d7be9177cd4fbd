#pragma once

#include <lockstep/models/layers/layer.h>
#include <lockstep/models/layers/layer_config.h>

namespace lockstep {

/// A new layer of the class and with the options of a file. Throws InputError, naming the layer, for an unknown class
/// and for options that it does not have.
Layer layer_from_config(LayerConfig& config);

}  // namespace lockstep
