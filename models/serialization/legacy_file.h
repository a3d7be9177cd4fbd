#pragma once

#include <lockstep/models/files/hdf5_file.h>
#include <lockstep/models/graph/network.h>

// Keras' legacy `.h5` files: of a whole model, with its configuration in the attribute "model_config" and its weights
// in the group "model_weights"; or of weights alone, which are then in the root. A layer's weights are the data sets
// that its group's attribute "weight_names" lists, those that train first. A model that was compiled has the attribute
// "training_config" and its optimizer's variables in the group "optimizer_weights", with such a list. All functions
// throw InputError naming the file.

namespace lockstep {

/// Whether the file is a legacy one of either kind.
bool holds_legacy_weights(const hdf5::Reader& file);

/// Sets the weights of a network from the layers of the file that have any, in their order; or from the one model in
/// it that an old multi_gpu_model nested.
void load_legacy_weights(const hdf5::Reader& file, const Network& network);

}  // namespace lockstep
