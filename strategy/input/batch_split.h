#pragma once

#include <cstdint>
#include <utility>

namespace lockstep {

/// Rows [first, second) of a global batch of `rows` that replica `replica` of `replicas` gets: consecutive, in replica
/// order, sizes differing by at most one, for partial batches too.
inline std::pair<std::int64_t, std::int64_t> split_rows(std::int64_t rows, int replica, int replicas) {
  const std::int64_t share = rows / replicas;
  const std::int64_t longer = rows % replicas;  // the first so many replicas get one row more
  const std::int64_t begin = replica * share + (replica < longer ? replica : longer);
  return {begin, begin + share + (replica < longer ? 1 : 0)};
}

}  // namespace lockstep
