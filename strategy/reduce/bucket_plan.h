#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <lockstep/strategy/comm/flat_range.h>

namespace lockstep {

/// Minimum sizes of all buckets but the last, in bytes of gradients.
struct BucketOptions {
  std::int64_t first_bytes = std::int64_t{1} << 20;  ///< for the first bucket; small, so that the exchange starts early
  std::int64_t bytes = std::int64_t{25} << 20;       ///< for all other buckets
};

/// Groups consecutive parameters into ranges that are exchanged together. `sizes` are in f32 elements, in the order in
/// which backward finishes the parameters. A bucket holds whole parameters and is closed as soon as it reaches its
/// minimum size; the last may be smaller. Deterministic: all replicas get the same plan from the same sizes.
std::vector<FlatRange> plan_buckets(std::span<const std::int64_t> sizes, const BucketOptions& options = {});

/// Index of the bucket of the parameter that begins at `begin`. If no bucket extends beyond `begin`, as for a parameter
/// without elements at the end, returns the last bucket. Precondition: there are buckets.
std::size_t bucket_of(std::span<const FlatRange> buckets, std::int64_t begin);

}  // namespace lockstep
