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

/// A model as a layer of others. There is one for all of a model's calls.
struct NestedModel {
  std::string name;                   ///< the model's
  std::string class_name;             ///< Keras': Functional or Sequential
  std::vector<std::string> inputs{};  ///< their names
  std::vector<ModelPart> layers{};    ///< in Keras' order
};

/// A call of a model on symbols of another one.
struct ModelCall {
  std::shared_ptr<const NestedModel> model;  ///< the one that is called
  std::vector<std::uint64_t> inputs;         ///< Symbol::Node::number of each, in the model's order
};

}  // namespace lockstep
