#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include <cudnn.h>

// The GPU for which a plan of a cuDNN graph is made, and the limit of the plan's scratch memory.

namespace lockstep::cudnn {

/// Describes a GPU, to make plans for it on a machine without it.
struct DescribedGpu {
  std::string properties;  ///< JSON of cuDNN's CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION
  int compute_capability;  ///< e.g. 90 for 9.0
};

/// The GPU of a plan: the GPU of a handle, or a described one. Plans for a described GPU cannot run.
using PlannedFor = std::variant<cudnnHandle_t, DescribedGpu>;

/// Maximum scratch memory of a plan, in bytes. Scratch memory counts against the device's memory limit, and algorithms
/// that need more are rarely faster.
inline constexpr std::int64_t workspace_limit = std::int64_t{1} << 30;

}  // namespace lockstep::cudnn
