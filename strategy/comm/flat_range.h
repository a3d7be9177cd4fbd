#pragma once

#include <cstdint>
#include <span>

#include <lockstep/kernels/update/reduce.h>
#include <lockstep/runtime/tensor/tensor.h>

// Ranges of flat memory, and reductions over them.

namespace lockstep {

/// Elements [begin, end) of flat memory.
struct FlatRange {
  std::int64_t begin = 0;  ///< in elements
  std::int64_t end = 0;    ///< in elements
};

/// Shard `share` of `shares` consecutive shards that cover the range. Borders between shards are multiples of 32
/// elements (64 bytes of bf16) from range.begin, so that two replicas never write to the same cache line if a cache
/// line begins at range.begin.
FlatRange shard_of(const FlatRange& range, int share, int shares);

/// Reduces elements `range` of all `in`, in their order, into the same elements of each `out`. All tensors must be
/// dense and have the same dtype and number of elements. For `terms` see ReduceViews.
void reduce_range(ReduceOp op, std::span<const Tensor> in, std::span<const Tensor> out, const FlatRange& range,
                  std::int64_t terms = 0);

/// Adds up elements `range` of all `in`, in their order, into the same elements of `out`, which may be one of the `in`.
void add_up_range(std::span<float* const> in, float* out, const FlatRange& range);

}  // namespace lockstep
