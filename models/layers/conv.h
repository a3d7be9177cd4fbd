#pragma once

#include <cstdint>
#include <string>

#include <lockstep/kernels/ops/conv2d.h>
#include <lockstep/models/layers/layer.h>

namespace lockstep {

struct Conv2DOptions {
  std::int64_t filters = 0;
  Size2d kernel_size{};
  Size2d strides{1, 1};
  Padding padding = Padding::valid;
  std::string name{};
};

/// Convolution with bias: (h, w, c) -> (h', w', filters). Weights: kernel (k_h, k_w, c, filters), bias (filters).
struct Conv2D : Layer {
  /// Throws InvalidArgument for a size below 1.
  explicit Conv2D(const Conv2DOptions& options);
};

}  // namespace lockstep
