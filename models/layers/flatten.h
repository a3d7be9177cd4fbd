#pragma once

#include <string>

#include <lockstep/models/layers/layer.h>

namespace lockstep {

/// (...) -> (product of the sizes).
struct Flatten : Layer {
  explicit Flatten(std::string name = {});
};

}  // namespace lockstep
