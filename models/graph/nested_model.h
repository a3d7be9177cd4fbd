#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <lockstep/models/layers/layer.h>

// A model that is part of another one: the other's network has its layers, and files of Keras have them as the model's.

namespace lockstep {

struct NestedModel;

/// An entry of Keras' `model.layers` that is no input.
struct ModelPart {
  std::optional<Layer> layer{};                ///< none for a model
  std::shared_ptr<const NestedModel> model{};  ///< null for a layer
};

/// An input of a model.
struct NetworkInput {
  /// Given to Input.
  std::string name;
  Shape shape;  ///< without the batch axis
};

/// A result within a model.
struct PartResult {
  int call = 0;    ///< which of the model's calls; -1 - i for its input i
  int result = 0;  ///< which of those that a model has as a part
};

/// A call of a part of a model.
struct PartCall {
  int part = 0;                      ///< which of NestedModel::layers
  std::vector<PartResult> inputs{};  ///< in the part's order
  Shape shape{};                     ///< of a layer's result, without the batch axis
  std::optional<Mode> mode{};        ///< its own, whatever the mode of the model's call is
};

/// A model as Keras has it, such as a model that is a layer of others, for which there is one for all of its calls.
struct NestedModel {
  std::string name;                    ///< the model's
  std::string class_name;              ///< Keras': Functional or Sequential
  std::vector<NetworkInput> inputs{};  ///< in the order in which a call takes them
  std::vector<ModelPart> layers{};     ///< each once, in the order of Keras' `model.layers`
  std::vector<PartCall> calls{};       ///< those of one part in their order
  std::vector<PartResult> outputs{};   ///< in the model's order
};

/// A call of a model on symbols of another one.
struct ModelCall {
  std::shared_ptr<const NestedModel> model;  ///< the one that is called
  std::vector<std::uint64_t> inputs;         ///< Symbol::Node::number of each, in the model's order
  std::vector<std::uint64_t> results{};      ///< the same of what it gives
  std::optional<Mode> mode{};                ///< what the call was given
};

}  // namespace lockstep
