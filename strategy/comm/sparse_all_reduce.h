#pragma once

#include <span>
#include <vector>

#include <lockstep/runtime/tensor/indexed_slices.h>
#include <lockstep/strategy/comm/communicator.h>

namespace lockstep {

/// Each value combined with those of its position on the other replicas. Sparse on every replica: the rows of all,
/// joined in replica order and not added up; they may differ in number. Their ops are sum, and mean, which divides the
/// values by the number of replicas. Dense on some replica: dense, as Communicator::all_reduce. Throws Unsupported for
/// other ops on sparse values and under a tape that watches a value, InvalidArgument where the replicas' values are
/// inconsistent.
std::vector<DenseOrSparse> all_reduce(Communicator& communicator, int replica, ReduceOp op,
                                      std::span<const DenseOrSparse> values);

}  // namespace lockstep
