#pragma once

#include <lockstep/models/layers/layer.h>

// Keras' penalties on weights, for the `kernel_regularizer` and the like of layers. Throw InvalidArgument for a
// negative factor.

namespace lockstep {

/// factor * sum(|w|).
Regularizer L1(double factor = 0.01);
/// factor * sum(w^2).
Regularizer L2(double factor = 0.01);
/// l1 * sum(|w|) + l2 * sum(w^2).
Regularizer L1L2(double l1 = 0, double l2 = 0);

}  // namespace lockstep
