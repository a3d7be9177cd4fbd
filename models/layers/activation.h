#pragma once

#include <string>

#include <lockstep/kernels/ops/elementwise.h>
#include <lockstep/models/layers/layer.h>

namespace lockstep {

/// Keras' layer Activation: applies the function to every element. `Activation` names the functions here.
struct ActivationLayer : Layer {
  explicit ActivationLayer(Activation activation, std::string name = {});
};

}  // namespace lockstep
