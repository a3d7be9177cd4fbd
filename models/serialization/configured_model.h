#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include <lockstep/models/graph/symbol.h>

namespace lockstep {

/// A model as a file of Keras describes it, its layers called on symbols and not yet built.
struct ConfiguredModel {
  /// A layer, and where the file has its weights.
  struct Saved {
    Layer layer;            ///< not yet built
    std::string group;      ///< in `.keras`: "layers/conv2d_1", "layers/functional/layers/dense"
    std::string top_level;  ///< in `.h5`: the layer, or the model that is one, of the outermost model
  };

  std::string name;             ///< the model's
  std::vector<Symbol> inputs;   ///< in the model's order
  std::vector<Symbol> outputs;  ///< likewise
  std::vector<Saved> layers;    ///< in the file's order
};

/// From the configuration of a Functional (also Keras 2's Model) or Sequential model, in the form of Keras 3 or 2.
/// Models among its layers are taken apart: their layers become the network's own, under their names or, where one is
/// taken, "model_layer". What the old multi_gpu_model made, slices of the batch with one model on each, is that model.
/// Throws InputError, naming the layer and what would be right, for layers, options and calls that this project does
/// not have, and for a graph that does not hold together.
ConfiguredModel model_from_config(const nlohmann::ordered_json& model);

}  // namespace lockstep
