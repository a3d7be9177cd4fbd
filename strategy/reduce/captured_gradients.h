#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include <lockstep/runtime/device/gpu_capture.h>

namespace lockstep {

/// The captured work of one replica's GPU from the forward pass to its gradients, in parts that are launched in order.
/// The exchange between replicas is not captured.
struct CapturedGradients {
  /// The work after the previous part. A part ends when the gradients of a bucket are complete, the last part at the
  /// end of the backward pass.
  struct Part {
    CapturedWork work{};                        ///< work to launch
    std::optional<std::size_t> final_bucket{};  ///< index of the bucket whose gradients this part completes, if any
  };
  std::vector<Part> parts{};  ///< in order of launch
  bool any = false;           ///< whether the loss depends on any variable
};

}  // namespace lockstep
