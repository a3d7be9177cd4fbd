#pragma once

#include <string>

#include <lockstep/models/layers/layer.h>

namespace lockstep {

/// Joins its inputs along the last axis; their other sizes must agree. Costs nothing where all inputs come from layers
/// that can write into their slice of the result.
struct Concatenate : Layer {
  explicit Concatenate(std::string name = {});
};

}  // namespace lockstep
