#pragma once

#include <array>
#include <cstdint>

#include <lockstep/runtime/core/shape.h>

namespace lockstep {

/// A loop over N operands of one shape. Axes of size 1 are dropped; neighboring axes are merged where the strides of
/// all operands permit it. The last axis is the inner loop.
template <int N>
struct StridedLoop {
  Shape shape;  ///< never rank 0
  std::array<Shape, N> strides;

  StridedLoop(const Shape& full_shape, const std::array<Shape, N>& full_strides) {
    for (int axis = 0; axis < full_shape.rank(); ++axis) {
      if (full_shape[axis] == 1) continue;
      if (shape.rank() > 0 && merges(full_shape[axis], full_strides, axis)) {
        shape[shape.rank() - 1] *= full_shape[axis];
        for (int i = 0; i < N; ++i) strides[i][shape.rank() - 1] = full_strides[i][axis];
      } else {
        shape.push_back(full_shape[axis]);
        for (int i = 0; i < N; ++i) strides[i].push_back(full_strides[i][axis]);
      }
    }
    if (shape.rank() == 0) {
      shape.push_back(1);
      for (Shape& s : strides) s.push_back(1);
    }
  }

  int inner_axis() const { return shape.rank() - 1; }
  std::int64_t inner_size() const { return shape[inner_axis()]; }
  std::int64_t inner_stride(int operand) const { return strides[operand][inner_axis()]; }

 private:
  /// Whether `axis` can be merged with the last axis so far in every operand.
  bool merges(std::int64_t size, const std::array<Shape, N>& full_strides, int axis) const {
    for (int i = 0; i < N; ++i)
      if (strides[i][shape.rank() - 1] != size * full_strides[i][axis]) return false;
    return true;
  }
};

}  // namespace lockstep
