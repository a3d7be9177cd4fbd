#pragma once

#include <algorithm>

#include <lockstep/runtime/core/error.h>
#include <lockstep/runtime/core/shape.h>

namespace lockstep {

/// The shape that two shapes broadcast to by NumPy's rules. Throws InvalidArgument naming `op` and the shapes if they
/// do not broadcast.
inline Shape broadcast_shape(const char* op, const Shape& a, const Shape& b) {
  const int rank = std::max(a.rank(), b.rank());
  const auto size = [rank](const Shape& shape, int axis) {
    const int own = axis - (rank - shape.rank());
    return own < 0 ? 1 : shape[own];
  };
  Shape result;
  for (int axis = 0; axis < rank; ++axis) {
    const std::int64_t left = size(a, axis);
    const std::int64_t right = size(b, axis);
    require(left == right || left == 1 || right == 1, "{}: shapes {} and {} do not broadcast", op, a, b);
    result.push_back(left == 1 ? right : left);
  }
  return result;
}

}  // namespace lockstep
