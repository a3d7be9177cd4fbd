#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include <lockstep/models/graph/symbol.h>

namespace lockstep {

/// A layer, and where a file has its weights.
struct SavedLayer {
  Layer layer;            ///< not yet built
  std::string group;      ///< in `.keras`: "layers/conv2d_1", "layers/functional/layers/dense"
  std::string top_level;  ///< in `.h5`: the layer, or the model that is one, of the outermost model
};

/// A model as a file of Keras describes it, its layers called on symbols and not yet built.
struct SymbolicModel {
  std::string name;                ///< the model's
  std::vector<Symbol> inputs;      ///< in the model's order
  std::vector<Symbol> outputs;     ///< in the model's order
  std::vector<SavedLayer> layers;  ///< in the file's order
};

/// From the configuration of a Functional (also Keras 2's Model) or Sequential model, in the form of Keras 3 or 2.
/// Models among its layers are taken apart: their layers become the network's own, under their names or, where one is
/// taken, "model_layer". What the old multi_gpu_model made, slices of the batch with one model on each, is that model.
/// Throws InputError, naming the layer and what would be right, for layers, options and calls that this project does
/// not have, and for a graph that does not hold together.
SymbolicModel model_from_config(const nlohmann::ordered_json& model);

}  // namespace lockstep
