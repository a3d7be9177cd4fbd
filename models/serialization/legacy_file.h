#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include <lockstep/models/graph/network.h>
#include <lockstep/models/serialization/hdf5_file.h>
#include <lockstep/models/serialization/optimizer_variables.h>
#include <lockstep/models/serialization/symbolic_model.h>

// Keras' legacy `.h5` files: of a whole model, with its configuration in the attribute "model_config" and its weights
// in the group "model_weights"; or of weights alone, which are then in the root. A layer's weights are the data sets
// that its group's attribute "weight_names" lists, those that train first. A model that was compiled has the attribute
// "training_config" and its optimizer's variables in the group "optimizer_weights", with such a list. All functions
// throw InputError naming the file.

namespace lockstep {

/// Writes the network as this model, and how it was compiled, if it was, as Keras 3 writes such files. Whole or not at
/// all. Throws Unsupported for layers that are none of Keras'.
void save_legacy_file(const Network& network, const NestedModel& model, const std::optional<Training>& training,
                      const std::string& path);

/// The model that the file describes, and as its "compile_config" how it was compiled, as read_keras_config gives them,
/// in terms of Keras 3.
nlohmann::ordered_json read_legacy_config(const std::string& path);

/// Sets the weights of the file's layers, which have been built. Those of none are set if not all fit. Brings the
/// training's optimizer, if there is one, to what the file knows of it.
void read_legacy_weights(const std::string& path, const std::vector<SavedLayer>& layers,
                         std::optional<Training>& training);

/// Whether the file is a legacy one of either kind.
bool holds_legacy_weights(const hdf5::Reader& file);

/// Sets the weights of a network from the layers of the file that have any, in their order; or from the one model in
/// it that an old multi_gpu_model nested.
void load_legacy_weights(const hdf5::Reader& file, const Network& network);

}  // namespace lockstep
