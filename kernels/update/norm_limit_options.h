#pragma once

namespace lockstep {

/// Limits for the Euclidean norms of vectors: a vector of norm n is multiplied by
/// (rate * clip(n, min_value, max_value) + (1 - rate) * n) / (epsilon + n).
struct NormLimits {
  double min_value = 0;   ///< at most max_value
  double max_value = 1;   ///< at least min_value
  double rate = 1;        ///< in [0, 1]; 1 applies the limits fully, 0 not at all
  double epsilon = 1e-7;  ///< keras.backend.epsilon()
};

}  // namespace lockstep
