#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include <lockstep/models/graph/symbol.h>

namespace lockstep {

/// A layer and the location of its weights in a file.
struct SavedLayer {
  Layer layer;            ///< not yet built
  std::string group;      ///< in `.keras`, e.g. "layers/conv2d_1" or "layers/functional/layers/dense"
  std::string top_level;  ///< in `.h5`, e.g. "conv2d_1", or "functional" for every layer of this nested model
};

/// A model from a Keras file, whose layers have been called on symbols but are not built.
struct SymbolicModel {
  std::string name;                ///< name of the model
  std::vector<Symbol> inputs;      ///< in the model's order
  std::vector<Symbol> outputs;     ///< in the model's order
  std::vector<SavedLayer> layers;  ///< in the file's order
};

/// Makes the model from the configuration of a Functional (in Keras 2 also Model) or Sequential model, in the form of
/// Keras 2 or 3. Nested models are flattened: their layers become layers of the network, with the name "model_layer" if
/// their own name is taken. A model made by the old multi_gpu_model, which runs one model on slices of the batch,
/// becomes that one model. Throws InputError for an inconsistent graph, and for unsupported layers, options and calls;
/// the message then names the layer and the supported values.
SymbolicModel model_from_config(const nlohmann::ordered_json& model);

}  // namespace lockstep
