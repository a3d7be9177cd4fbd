#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include <lockstep/models/graph/network.h>
#include <lockstep/models/serialization/configured_model.h>

// Keras 3's `.keras` files of whole models: a zip archive of metadata.json, config.json and model.weights.h5. All
// functions throw InputError naming the file.

namespace lockstep {

/// Writes the network as a model of this name. Whole or not at all. Throws Unsupported for layers that are none of
/// Keras'.
void save_keras_file(const Network& network, const std::string& name, const std::string& path);

/// What config.json says: the model.
nlohmann::ordered_json read_keras_config(const std::string& path);

/// Sets the weights of the file's layers, which have been built. Those of none are set if not all fit.
void read_keras_weights(const std::string& path, const std::vector<ConfiguredModel::Saved>& layers);

}  // namespace lockstep
