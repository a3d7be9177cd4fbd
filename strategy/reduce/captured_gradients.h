#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include <lockstep/runtime/device/gpu_capture.h>

namespace lockstep {

/// What one replica's GPU computes up to its gradients, forward pass included, as it is launched, part by part. What
/// replicas exchange is in none of them.
struct CapturedGradients {
  /// What is computed up to a bucket, or to the end.
  struct Part {
    CapturedWork work{};                        ///< as it is launched
    std::optional<std::size_t> final_bucket{};  ///< the reducer's whose gradients are final after it, if one's are
  };
  std::vector<Part> parts{};  ///< in their order
  bool any = false;           ///< whether the loss depends on some variable
};

}  // namespace lockstep
