#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <lockstep/strategy/comm/flat_range.h>

namespace lockstep {

/// How large buckets are, in bytes of gradients.
struct BucketOptions {
  std::int64_t first_bytes = std::int64_t{1} << 20;  ///< small, for exchanges beside backward to start early
  std::int64_t bytes = std::int64_t{25} << 20;       ///< of all others
};

/// Cuts parameters that lie one after the other into ranges that are exchanged together. `sizes` are in f32 elements,
/// in the order in which backward finishes them. A bucket is closed once it holds at least its bytes, and holds whole
/// parameters. Pure: all replicas get the same plan from the same sizes.
std::vector<FlatRange> plan_buckets(std::span<const std::int64_t> sizes, const BucketOptions& options = {});

}  // namespace lockstep
