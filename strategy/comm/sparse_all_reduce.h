#pragma once

#include <span>
#include <vector>

#include <lockstep/runtime/tensor/indexed_slices.h>
#include <lockstep/strategy/comm/communicator.h>

namespace lockstep {

/// Combines each value with those at the same position on the other replicas. If it is sparse on every replica: joins
/// the rows of all, in replica order, without adding them up; the replicas' numbers of rows may differ. Supports sum,
/// and mean, which divides the values by the number of replicas. If it is dense on some replica: makes it dense on all
/// and reduces it as Communicator::all_reduce. Throws Unsupported for other ops on sparse values and under a tape that
/// watches a value, InvalidArgument when the replicas' values are inconsistent.
std::vector<DenseOrSparse> all_reduce(Communicator& communicator, int replica, ReduceOp op,
                                      std::span<const DenseOrSparse> values);

}  // namespace lockstep
