#pragma once

#include <cstdint>

#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep {

/// Whether x has the layout "rows" (kernel.h): the last axis is contiguous, and consecutive rows are a fixed stride
/// apart and do not overlap, as in a slice of channels.
inline bool is_rows(const Tensor& x) {
  const int last = x.rank() - 1;
  if (x.is_dense() || last < 0) return true;
  if (x.shape()[last] != 1 && x.strides()[last] != 1) return false;
  std::int64_t expected = -1;  // -1 up to the innermost axis whose size is not 1
  for (int axis = last - 1; axis >= 0; --axis) {
    if (x.shape()[axis] == 1) continue;
    if (expected >= 0 && x.strides()[axis] != expected) return false;
    if (expected < 0 && x.strides()[axis] < x.shape()[last]) return false;
    expected = x.strides()[axis] * x.shape()[axis];
  }
  return true;
}

/// Distance between the first elements of successive rows, in elements. Precondition: is_rows(x).
inline std::int64_t row_stride(const Tensor& x) {
  for (int axis = x.rank() - 2; axis >= 0; --axis)
    if (x.shape()[axis] != 1) return x.strides()[axis];
  return x.rank() > 0 ? x.shape()[x.rank() - 1] : 1;
}

}  // namespace lockstep
