#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <lockstep/models/graph/given_masks.h>
#include <lockstep/models/layers/layer.h>

// Models that are part of another model. The outer model's network lists the inner model's layers as its own; Keras'
// files store them as layers of the inner model.

namespace lockstep {

struct NestedModel;

/// An entry of Keras' `model.layers` that is not an input: a layer or a model.
struct ModelPart {
  std::optional<Layer> layer{};                ///< empty for a model
  std::shared_ptr<const NestedModel> model{};  ///< null for a layer
};

/// An input of a model.
struct NetworkInput {
  /// The name given to Input().
  std::string name;
  Shape shape;                  ///< without the batch axis
  std::int64_t batch_size = 0;  ///< number of examples of every batch; 0 for any
};

/// A reference to the result of a call in a model, or to an input of the model.
struct PartResult {
  int call = 0;    ///< index in NestedModel::calls; -1 - i for the model's input i
  int result = 0;  ///< index of the result, if the called part has several results
};

/// A call of a part of a model.
struct PartCall {
  int part = 0;                      ///< index in NestedModel::layers
  std::vector<PartResult> inputs{};  ///< the call's arguments, in the part's order, followed by the masks it is given
  std::vector<Shape> shapes{};       ///< a layer's results, without the batch axis; () or missing for unread results
  std::optional<Mode> mode{};        ///< the call's own mode, if it differs from the model's
  bool use_causal_mask = false;      ///< see LayerCall::use_causal_mask
  GivenMasks given_masks{};          ///< masks among `inputs`
};

/// A model as Keras describes it: its inputs, its parts (layers and models), and their calls. All calls of a model that
/// is part of other models share one NestedModel.
struct NestedModel {
  std::string name;                    ///< name of the model
  std::string class_name;              ///< Keras' class: Functional or Sequential
  std::vector<NetworkInput> inputs{};  ///< in the order of a call's arguments
  std::vector<ModelPart> layers{};     ///< each part once, in the order of Keras' `model.layers`
  std::vector<PartCall> calls{};       ///< calls of the same part are in the order in which they were made
  std::vector<PartResult> outputs{};   ///< in the order of the model's outputs
};

/// A call of a model on symbols of an outer model.
struct ModelCall {
  std::shared_ptr<const NestedModel> model;  ///< the called model
  std::vector<std::uint64_t> inputs;         ///< Symbol::Node::number of each input, in the called model's order
  std::vector<std::uint64_t> results{};      ///< Symbol::Node::number of each result
  std::optional<Mode> mode{};                ///< the mode given to the call, if any
};

}  // namespace lockstep
