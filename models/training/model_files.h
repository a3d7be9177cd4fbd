#pragma once

#include <cstdint>
#include <string>

#include <lockstep/models/training/model.h>

// Files of whole models: the layers, how they are connected, and their weights.

namespace lockstep {

/// Writes the model in the format that the extension says, as Keras does: `.keras` is Keras 3's, `.h5` and `.hdf5` are
/// the legacy one. Keras' load_model opens it, whose own layers all layers must be. Whole or not at all. What many
/// replicas train is saved as one model, and a ParallelModel as its template, however often it is saved and loaded.
/// Throws InvalidArgument for another extension, InputError naming path and reason, Unsupported naming a layer that
/// Keras does not have, LogicError in a replica.
void save_model(const Model& model, const std::string& path);

/// What a file does not say.
struct LoadOptions {
  std::uint64_t seed = 0;  ///< of dropout
};

/// The model of such a file, written here or by Keras, for the strategy in whose scope this is called: its layers with
/// their names, options and weights. A Sequential model becomes a functional one, models among the layers are taken
/// apart, and what the old multi_gpu_model made is its template again. Throws InvalidArgument for another extension,
/// InputError naming file, layer and what would be right, LogicError in a replica.
Model load_model(const std::string& path, const LoadOptions& options = {});

}  // namespace lockstep
