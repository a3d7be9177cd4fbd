#pragma once

#include <string>
#include <vector>

namespace lockstep {

/// Where a weight is in a safetensors file.
struct StoredWeight {
  std::string name;  ///< name in the file
  /// The permutation that turns the file's tensor into the weight: axis i of the weight is axis axes[i] of the file's
  /// tensor, e.g. {1, 0} for PyTorch's Linear, {2, 3, 1, 0} for Conv2d, and {2, 3, 0, 1} for a depthwise Conv2d. Empty:
  /// the file has the weight's order.
  std::vector<int> axes{};
};

}  // namespace lockstep
