#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include <lockstep/models/graph/network.h>
#include <lockstep/models/serialization/optimizer_variables.h>
#include <lockstep/models/serialization/symbolic_model.h>

// Keras 3's `.keras` files of whole models: a zip archive of metadata.json, config.json and model.weights.h5. All
// functions throw InputError naming the file.

namespace lockstep {

/// Writes the network as this model, and how it was compiled, if it was. Whole or not at all. Throws Unsupported for
/// layers that are none of Keras'.
void save_keras_file(const Network& network, const NestedModel& model, const std::optional<Training>& training,
                     const std::string& path);

/// What config.json says: the model, and in its "compile_config" how it was compiled.
nlohmann::ordered_json read_keras_config(const std::string& path);

/// Sets the weights of the file's layers, which have been built. Those of none are set if not all fit. Brings the
/// training's optimizer, if there is one, to what the file knows of it.
void read_keras_weights(const std::string& path, const std::vector<SavedLayer>& layers,
                        std::optional<Training>& training);

}  // namespace lockstep
