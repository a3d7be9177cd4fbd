#pragma once

#include <lockstep/models/optimizers/optimizer.h>

namespace lockstep {

struct SgdOptions {
  double learning_rate = 0.01;
  double momentum = 0;  ///< in [0, 1]
  bool nesterov = false;
  double weight_decay = 0;  ///< share of each parameter that a step takes off, times the learning rate
};

/// Gradient descent with momentum, as keras.optimizers.SGD; the formula stands at SgdStep.
struct SGD : Optimizer {
  /// Throws InvalidArgument for a value out of its range.
  explicit SGD(const SgdOptions& options = {});
};

}  // namespace lockstep
