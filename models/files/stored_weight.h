#pragma once

#include <string>
#include <vector>

namespace lockstep {

/// Where a weight is in a safetensors file.
struct StoredWeight {
  std::string name;  ///< name in the file
  /// The axes of the file's tensor in the weight's order: {1, 0} for the weight of PyTorch's Linear, {2, 3, 1, 0} for
  /// that of its Conv2d, {2, 3, 0, 1} for a depthwise Conv2d. Empty: the weight's own order.
  std::vector<int> axes{};
};

}  // namespace lockstep
