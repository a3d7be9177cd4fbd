#include "lockstep/strategy/reduce/bucket_plan.h"

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

}  // namespace lockstep
