#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

// The configuration of a model in a Keras file, parsed into plain values. The values are the same for the forms of
// Keras 2 and 3, and a Sequential model becomes a functional model. symbolic_model.h makes layers from these values.

namespace lockstep {

/// One result of a layer call. A model and a recurrent layer with return_state can have several results.
struct ParsedReference {
  std::string layer;       ///< the layer's name
  std::size_t call = 0;    ///< index of the layer's call
  std::size_t result = 0;  ///< index of the call's result
};

/// Of Keras' reference ["dense", 0, 0]. Throws nlohmann::json's exceptions for other forms.
ParsedReference reference_of(const nlohmann::ordered_json& reference);

struct ParsedModel;

/// A call of a layer.
struct ParsedCall {
  std::vector<ParsedReference> inputs{};  ///< arguments, in order
  std::optional<bool> training{};         ///< the argument `training`, if given
  bool use_causal_mask = false;           ///< see LayerCall::use_causal_mask
  bool return_attention_scores = false;   ///< whether an attention layer also returns its attention weights
  bool has_named_mask = false;            ///< whether the second input is Softmax's argument `mask`, given by name
  bool key_is_value = false;              ///< whether attention's third input is the value because no key is given
  /// The masks that the call is given, by the names of its arguments; null if there are none.
  std::shared_ptr<const nlohmann::ordered_json> masks{};
  std::vector<ParsedReference> mask_sources{};  ///< the results from which `masks` are computed, without operations
};

/// An operation of keras.ops and its call, in the form of operation_layer().
struct ParsedOperation {
  std::string class_name;                                   ///< of keras.ops, e.g. "Add"
  std::shared_ptr<const nlohmann::ordered_json> options;    ///< the operation's config
  std::shared_ptr<const nlohmann::ordered_json> arguments;  ///< of the call
};

/// A layer of a model. An operation that Keras records for a formula such as x + 3 becomes the layer Rescaling. An
/// operation that combines results of layers, such as Add, becomes the layer of the same name.
struct ParsedLayer {
  std::string name;        ///< unique in its model
  std::string class_name;  ///< Keras' name of the class, or "package>name"
  std::string group;       ///< base name of the class's groups in HDF5 weight files, e.g. "conv2d"
  std::shared_ptr<const nlohmann::ordered_json> values;  ///< its options
  std::vector<ParsedCall> calls{};                       ///< in the file's order
  std::shared_ptr<const ParsedModel> model{};            ///< null unless the layer is a model
  std::optional<std::int64_t> shared_id{};               ///< equal for entries of the file that are the same layer
  /// Whether the layer is an operation of keras.ops, which also broadcasts over the batch axis; other layers broadcast
  /// only within each example.
  bool is_operation = false;
  /// Empty unless it is one of operation_names(). It is loaded as an operation_layer() if is_layer is false or if the
  /// layer would pass on a mask that is then read, which Keras' operation drops.
  std::optional<ParsedOperation> operation{};
  bool is_layer = true;  ///< whether the layer `class_name` with the options `values` computes the same
  /// Whether it is an operation that computes only masks. It is left out unless a call needs it: unless the masks that
  /// the inputs of calls carry are all that it computes.
  bool only_masks = false;
  std::string refusal{};  ///< why an operation with only_masks cannot be read; empty if it can
};

/// A model, which may be a layer of another model.
struct ParsedModel {
  std::string name;                        ///< as in the file
  std::vector<ParsedLayer> layers{};       ///< in the file's order, with an InputLayer for each input
  std::vector<ParsedReference> inputs{};   ///< results of InputLayers
  std::vector<ParsedReference> outputs{};  ///< in the model's order
  bool trainable = true;                   ///< if false in the outermost model, no layer is trainable
  /// See SeparatedMasks::operations; null in a Sequential model.
  std::shared_ptr<const nlohmann::ordered_json> mask_operations{};
};

/// Whether a class name in a file (class_name_in) belongs to a model.
bool is_model(std::string_view class_name);

/// Parses the configuration of a Functional, Model or Sequential model. Throws InputError for other classes, for a
/// Sequential model without layers or with a layer of several results, and for calls with arguments other than tensors,
/// `training`, `initial_state`, masks and the arguments of attention layers. Also throws nlohmann::json's exceptions
/// for values of unexpected types.
ParsedModel parse_model_config(const nlohmann::ordered_json& model);

/// For a model made by the old multi_gpu_model or make_parallel, the layer that is the template: the model that all
/// replicas run. Null for any other model.
const ParsedLayer* template_of_replicas(const ParsedModel& model);

}  // namespace lockstep
