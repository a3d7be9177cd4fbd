#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

// A model's configuration, as a file of Keras has it, parsed into plain values: what Keras 2 and 3 write differently is
// one here, and a Sequential model is a functional one. symbolic_model.h makes layers from these values.

namespace lockstep {

/// A result of a layer: of which of its calls, from 0, and which of the results that a model has as a layer.
struct ParsedReference {
  std::string layer;       ///< its name
  std::size_t call = 0;    ///< from 0
  std::size_t result = 0;  ///< from 0
};

struct ParsedModel;

/// A call of a layer.
struct ParsedCall {
  std::vector<ParsedReference> inputs{};  ///< what it reads
  std::optional<bool> training{};         ///< the argument, where the call was given it
};

/// One layer.
struct ParsedLayer {
  std::string name;                                      ///< in its model
  std::string class_name;                                ///< Keras'
  std::shared_ptr<const nlohmann::ordered_json> values;  ///< its options
  std::vector<ParsedCall> calls{};                       ///< in their order
  std::shared_ptr<const ParsedModel> model{};            ///< of a layer that is a model
  std::optional<std::int64_t> shared_id{};               ///< of a layer that stands in the file several times
};

/// A model, or one that is a layer of another.
struct ParsedModel {
  std::string name;                        ///< as in the file
  std::vector<ParsedLayer> layers{};       ///< in the file's order, with an InputLayer for each input
  std::vector<ParsedReference> inputs{};   ///< results of InputLayers
  std::vector<ParsedReference> outputs{};  ///< in the model's order
  bool trainable = true;                   ///< of the outermost model: if not, no layer is, whatever it says
};

/// Throws InputError for what is not the configuration of a Functional, Model or Sequential model, and for calls with
/// other arguments than tensors and `training`; JSON's own exceptions for values of other types than Keras writes.
ParsedModel parse_model_config(const nlohmann::ordered_json& model);

/// The one model that all replicas of an old multi_gpu_model or make_parallel run, as which layer of it; null for any
/// other model.
const ParsedLayer* template_of_replicas(const ParsedModel& model);

}  // namespace lockstep
