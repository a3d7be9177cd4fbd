#pragma once

#include <cstdint>
#include <span>

#include <lockstep/kernels/update/reduce.h>
#include <lockstep/runtime/tensor/tensor.h>

// Work on a range of flat memory that all replicas reach.

namespace lockstep {

/// Elements [begin, end) of flat memory.
struct FlatRange {
  std::int64_t begin = 0;  ///< in elements
  std::int64_t end = 0;    ///< in elements
};

/// Share `share` of a range that `shares` replicas divide: consecutive, on cache-line borders, together the whole
/// range.
FlatRange shard_of(const FlatRange& range, int share, int shares);

/// Elements `range` of each `out` = op over the `in`, in their order. All are dense, of one dtype and one number of
/// elements. `terms` as in ReduceViews.
void reduce_range(ReduceOp op, std::span<const Tensor> in, std::span<const Tensor> out, const FlatRange& range,
                  std::int64_t terms = 0);

/// Elements `range` of `out` = the sum of those of all `in`, in their order; `out` may be one of these.
void add_up_range(std::span<float* const> in, float* out, const FlatRange& range);

}  // namespace lockstep
