#include "lockstep/strategy/reduce/bucket_plan.h"

#include <algorithm>

namespace lockstep {

std::vector<FlatRange> plan_buckets(std::span<const std::int64_t> sizes, const BucketOptions& options) {
  std::vector<FlatRange> buckets;
  FlatRange open;
  for (const std::int64_t size : sizes) {
    open.end += size;
    const std::int64_t limit = buckets.empty() ? options.first_bytes : options.bytes;
    if ((open.end - open.begin) * static_cast<std::int64_t>(sizeof(float)) < limit) continue;
    buckets.push_back(open);
    open = {open.end, open.end};
  }
  if (open.end > open.begin) buckets.push_back(open);
  return buckets;
}

std::size_t bucket_of(std::span<const FlatRange> buckets, std::int64_t begin) {
  const auto bucket = std::ranges::find_if(buckets, [&](const FlatRange& range) { return begin < range.end; });
  return bucket == buckets.end() ? buckets.size() - 1 : static_cast<std::size_t>(bucket - buckets.begin());
}

}  // namespace lockstep
