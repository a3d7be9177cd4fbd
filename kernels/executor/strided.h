#pragma once

#include <cstdint>
#include <limits>

#include <lockstep/kernels/executor/divisor.h>
#include <lockstep/kernels/executor/executor.h>
#include <lockstep/kernels/executor/strided_loop.h>
#include <lockstep/runtime/core/host_device.h>

namespace lockstep::kernels {

/// Offsets of element number i in N tensors of one shape and any strides.
template <int N>
struct StridedIndex {
  explicit StridedIndex(const StridedLoop<N>& loop) : rank(loop.shape.rank()), narrow(fits_in_32_bits(loop)) {
    for (int axis = 0; axis < rank; ++axis) {
      sizes[axis] = Divisor(loop.shape[axis]);
      for (int k = 0; k < N; ++k) strides[k][axis] = loop.strides[k][axis];
    }
  }

  struct Offsets {
    Index of[N];  ///< offset from each tensor's first element
  };
  LOCKSTEP_HOST_DEVICE Offsets operator()(Index i) const {
    return narrow ? offsets(static_cast<std::int32_t>(i)) : offsets(i);
  }

  int rank;
  bool narrow;  ///< whether all indices and offsets fit in 32 bits, in which GPUs compute faster
  Divisor sizes[Shape::max_rank] = {};
  Index strides[N][Shape::max_rank] = {};

 private:
  static bool fits_in_32_bits(const StridedLoop<N>& loop) {
    constexpr Index most = std::numeric_limits<std::int32_t>::max();
    bool fits = loop.shape.elements() <= most;
    for (const Shape& of_tensor : loop.strides) {
      Index last = 0;
      for (int axis = 0; axis < loop.shape.rank(); ++axis) last += (loop.shape[axis] - 1) * of_tensor[axis];
      fits = fits && last <= most;
    }
    return fits;
  }

  template <class Int>
  LOCKSTEP_HOST_DEVICE Offsets offsets(Int i) const {
    Int sums[N] = {};
    for (int axis = rank - 1; axis > 0; --axis) {
      const Int before = i / sizes[axis];
      const Int at = i - before * static_cast<Int>(sizes[axis].value());
      for (int k = 0; k < N; ++k) sums[k] += at * static_cast<Int>(strides[k][axis]);
      i = before;
    }
    Offsets result;
    for (int k = 0; k < N; ++k) result.of[k] = sums[k] + i * static_cast<Int>(strides[k][0]);
    return result;
  }
};

}  // namespace lockstep::kernels
