#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <lockstep/models/layers/layer.h>

namespace lockstep {

/// Dot's options.
struct DotOptions {
  /// The axis that is summed over: one number for both inputs, or one for each. Axis 0, the batch axis, is not allowed;
  /// negative axes count from the end.
  std::vector<std::int64_t> axes{-1};
  bool normalize = false;  ///< divides each input by max(its Euclidean norm along the axis, 1e-7)
  /// Name of the layer; if empty, the model derives one from the class name.
  std::string name{};
  void describe(LayerConfig& config);  ///< writes or reads the options
};

/// For each example, the sum of the products of two inputs along an axis. The result has the other axes of the first
/// input, then the other axes of the second; if there are none, its shape is (1).
struct Dot : Layer {
  /// Throws InvalidArgument unless there are one or two axes, none of them 0. A call of the layer throws it unless
  /// there are two inputs that have these axes, with equal sizes.
  explicit Dot(const DotOptions& options = {});
};

}  // namespace lockstep
