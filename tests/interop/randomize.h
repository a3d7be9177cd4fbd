#pragma once

#include <random>
#include <vector>

#include <lockstep/models/training/model.h>

namespace lockstep {

/// Moves biases, scales and moving statistics away from their initial 0 and 1, which would hide mixed-up weights.
inline void randomize(const Model& model) {
  std::mt19937 generator(7);
  for (const Variable& variable : model.variables()) {
    if (variable.shape().rank() != 1) continue;
    std::vector<float> values = variable.value().to_vector<float>();
    for (float& value : values) value += 0.5F * static_cast<float>(generator() / 4294967296.0 - 0.5);
    variable.assign(Tensor::from(values, variable.shape()));
  }
}

}  // namespace lockstep
