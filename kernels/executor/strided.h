#pragma once

#include <lockstep/kernels/executor/executor.h>
#include <lockstep/kernels/executor/strided_loop.h>
#include <lockstep/runtime/core/host_device.h>

namespace lockstep::kernels {

/// Offsets of element number i in N tensors of one shape and any strides.
template <int N>
struct StridedIndex {
  explicit StridedIndex(const StridedLoop<N>& loop) : rank(loop.shape.rank()) {
    for (int axis = 0; axis < rank; ++axis) {
      sizes[axis] = loop.shape[axis];
      for (int k = 0; k < N; ++k) strides[k][axis] = loop.strides[k][axis];
    }
  }

  struct Offsets {
    Index of[N];  ///< offset from each tensor's first element
  };
  LOCKSTEP_HOST_DEVICE Offsets operator()(Index i) const {
    Offsets offsets{};
    for (int axis = rank - 1; axis > 0; --axis) {
      const Index before = i / sizes[axis];
      const Index at = i - before * sizes[axis];
      for (int k = 0; k < N; ++k) offsets.of[k] += at * strides[k][axis];
      i = before;
    }
    for (int k = 0; k < N; ++k) offsets.of[k] += i * strides[k][0];
    return offsets;
  }

  int rank;
  Index sizes[Shape::max_rank] = {};
  Index strides[N][Shape::max_rank] = {};
};

}  // namespace lockstep::kernels
