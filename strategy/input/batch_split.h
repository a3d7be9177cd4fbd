#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace lockstep {

/// `shares` must be empty or have one positive, finite share for each replica; otherwise throws InvalidArgument.
void check_shares(std::span<const double> shares, int replicas);

/// Returns the number of rows of each replica's part of a global batch of `rows` rows. Replicas get consecutive rows in
/// replica order, and each row is used once. Largest remainder method: each replica gets floor(rows * share / sum of
/// shares) rows. The remaining rows go, one each, to the replicas with the largest remainders; of replicas with equal
/// remainders, the first come first. Without shares, the numbers differ by at most one and the first replicas get the
/// larger parts, even in partial batches. Precondition: check_shares accepts `shares`.
std::vector<std::int64_t> split_rows(std::int64_t rows, int replicas, std::span<const double> shares = {});

}  // namespace lockstep
