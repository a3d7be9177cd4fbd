#pragma once

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/expect_error.h>
#include <support/tensors.h>

#include <lockstep/models/layers/layer.h>

// Helpers to use a layer without a network.

namespace lockstep::test {

inline const LayerCall training{.mode = Mode::train};
inline const LayerSeed seed{.seed = 7, .stream = 3};

/// Names the layer "layer" and builds it for these inputs.
template <class SomeLayer>
SomeLayer built(const SomeLayer& layer, const std::vector<Shape>& inputs, const LayerSeed& seed = {}) {
  layer.impl().set_name("layer");
  layer.impl().build(inputs, seed);
  return layer;
}

inline Tensor call(const Layer& layer, const std::vector<Tensor>& inputs, const LayerCall& call = {}) {
  return layer.impl().call(inputs, call);
}

inline Shape shape_after(const Layer& layer, const std::vector<Shape>& inputs) {
  return layer.impl().output_shape(inputs);
}

inline Tensor weight(const Layer& layer, int number) { return layer.impl().variables().at(number).value(); }

/// "name shape" of each variable.
inline std::vector<std::string> weights_of(const Layer& layer) {
  std::vector<std::string> weights;
  for (const Variable& variable : layer.impl().variables())
    weights.push_back(variable.name() + " " + variable.shape().text());
  return weights;
}

}  // namespace lockstep::test
