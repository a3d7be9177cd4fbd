#include "lockstep/strategy/input/batch_split.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/ranges.h>

#include <lockstep/runtime/core/error.h>
#include <lockstep/runtime/core/scaled_weights.h>

namespace lockstep {

void check_shares(std::span<const double> shares, int replicas) {
  if (shares.empty()) return;
  require(static_cast<int>(shares.size()) == replicas, "{} batch shares [{}] were given for {} replica(s)",
          shares.size(), fmt::join(shares, ", "), replicas);
  for (const double share : shares)
    require(std::isfinite(share) && share > 0, "a batch share must be positive and finite, got [{}]",
            fmt::join(shares, ", "));
}

std::vector<std::int64_t> split_rows(std::int64_t rows, int replicas, std::span<const double> shares) {
  const auto count = static_cast<std::size_t>(replicas);
  const std::vector<double> scaled = shares.empty() ? std::vector<double>(count, 1) : scaled_weights(shares);
  const double total = std::accumulate(scaled.begin(), scaled.end(), 0.0);

  std::vector<std::int64_t> sizes(count);
  std::vector<double> rests(count);
  for (std::size_t replica = 0; replica < count; ++replica) {
    const double quota = static_cast<double>(rows) * scaled[replica] / total;
    sizes[replica] = static_cast<std::int64_t>(quota);
    rests[replica] = quota - std::floor(quota);
  }
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return rests[a] > rests[b]; });
  const std::int64_t left = rows - std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0});
  for (std::int64_t i = 0; i < left; ++i) ++sizes[order[static_cast<std::size_t>(i)]];
  return sizes;
}

}  // namespace lockstep
