#pragma once

namespace lockstep {

/// What becomes of the Euclidean norms of vectors: each vector is scaled so that its norm n becomes
/// rate * clip(n, min_value, max_value) + (1 - rate) * n, but for the epsilon that its norm is divided by with.
struct NormLimits {
  double min_value = 0;   ///< at most max_value
  double max_value = 1;   ///< of the norms
  double rate = 1;        ///< how far norms go to their limit, in [0, 1]
  double epsilon = 1e-7;  ///< keras.backend.epsilon()
};

}  // namespace lockstep
