#pragma once

#include <lockstep/models/optimizers/optimizer.h>

namespace lockstep {

struct AdamOptions {
  double learning_rate = 0.001;
  double beta_1 = 0.9;    ///< in [0, 1)
  double beta_2 = 0.999;  ///< in [0, 1)
  double epsilon = 1e-7;  ///< above 0
};

/// Kingma and Ba 2015 as keras.optimizers.Adam; the formula stands at AdamStep.
struct Adam : Optimizer {
  /// Throws InvalidArgument for a value out of its range.
  explicit Adam(const AdamOptions& options = {});
};

}  // namespace lockstep
