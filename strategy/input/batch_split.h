#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace lockstep {

/// Throws InvalidArgument unless there is one positive, finite share for each replica, or none at all.
void check_shares(std::span<const double> shares, int replicas);

/// How many rows of a global batch of `rows` each replica gets, of consecutive ones in replica order: every row is used
/// once. Shares (largest remainder): each replica gets the whole part of rows * share / sum of shares, and those with
/// the largest rests, the first ones among equals, one row more. No shares stand for equal ones: sizes then differ by
/// at most one, and the first replicas have the longer parts; for partial batches too.
std::vector<std::int64_t> split_rows(std::int64_t rows, int replicas, std::span<const double> shares = {});

}  // namespace lockstep
