#pragma once

#include <lockstep/kernels/kernel.h>

namespace lockstep::kernels {

/// y[o, c, i] = 1 where c = ids[o, i], else 0; y (outer, classes, inner), of any dtype; ids (outer, inner), i64.
struct OneHot {
  Tensor ids;
  Tensor y;

  static constexpr const char* name = "one_hot";
  auto operands() const { return kernels::operands(ids, y); }
  template <class Executor>
  void run(Executor& on) const;
};

/// flat[i] = the row-major offset, in a tensor of shape `sizes`, of the element whose index is row i of `indices` (n,
/// axes), i64; negative indices count from the end. flat[i] is 0 if row i has an index out of range. Returns the first
/// such i, or -1.
struct FlatIndices {
  Tensor indices;
  Shape sizes;  ///< size of each axis
  Tensor flat;

  static constexpr const char* name = "flat_indices";
  auto operands() const { return kernels::operands(indices, flat); }
  template <class Executor>
  std::int64_t run(Executor& on) const;
};

/// flat[o, i, k] = the row-major offset, in a tensor (outer, size, inner), of element (o, indices[o, i, k], k); flat
/// and `indices` are (outer, n, inner), i64. Negative and out-of-range indices are treated as in FlatIndices; returns
/// the row-major position of the first index out of range, or -1.
struct FlatIndicesAlong {
  Tensor indices;
  std::int64_t size;
  Tensor flat;

  static constexpr const char* name = "flat_indices_along";
  auto operands() const { return kernels::operands(indices, flat); }
  template <class Executor>
  std::int64_t run(Executor& on) const;
};

}  // namespace lockstep::kernels
