#pragma once

#include <cstdint>

#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep {

/// Keras' padding: `same` pads so that output = ceil(input / stride), the odd row or column at the end.
enum class Padding { valid, same };

/// One size per spatial axis.
struct Size2d {
  std::int64_t height = 1;
  std::int64_t width = 1;
};

struct Conv2dOptions {
  Size2d strides{1, 1};
  Padding padding = Padding::valid;
};

/// x (n, h, w, c_in) * kernel (k_h, k_w, c_in, c_out) + bias (c_out), which may be undefined -> (n, h', w', c_out).
/// Cross-correlation, as in Keras. Zero rows (n == 0) are allowed. Throws InvalidArgument naming the shapes.
Tensor conv2d(const Tensor& x, const Tensor& kernel, const Tensor& bias, const Conv2dOptions& options = {});

}  // namespace lockstep
