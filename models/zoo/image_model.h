#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <lockstep/models/graph/symbol.h>
#include <lockstep/models/layers/activation.h>
#include <lockstep/runtime/core/error.h>

// Shared by the models of keras.applications.

namespace lockstep::zoo::detail {

/// Calls a ReLU activation layer of this name on x.
inline Symbol relu(const Symbol& x, const std::string& name) { return ActivationLayer(Activation::relu, name)(x); }

/// Throws InvalidArgument naming `model` unless `shape` is (height, width, channels) with sides of at least
/// `smallest_side`.
inline void check_images(std::string_view model, const Shape& shape, std::int64_t smallest_side) {
  require(shape.rank() == 3 && shape[0] >= smallest_side && shape[1] >= smallest_side,
          "{0} takes images (height, width, channels) of at least {1} x {1}, got {2}", model, smallest_side, shape);
}

}  // namespace lockstep::zoo::detail
