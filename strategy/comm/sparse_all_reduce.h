#pragma once

#include <span>
#include <vector>

#include <lockstep/runtime/tensor/indexed_slices.h>
#include <lockstep/strategy/comm/communicator.h>

namespace lockstep {

/// Combines each value with the values at the same position on the other replicas. Values that are sparse on every
/// replica are joined: the result has the rows of all replicas, in replica order, without adding them up. The replicas'
/// numbers of rows may differ, and a mean divides the rows' values by the number of replicas. If a value is dense on
/// any replica, it is made dense on all and reduced as by Communicator::all_reduce. For sparse values, throws
/// Unsupported if the op is neither sum nor mean. Also throws Unsupported under a tape that watches any of the values.
/// Throws InvalidArgument if the replicas' values are inconsistent.
std::vector<DenseOrSparse> all_reduce(Communicator& communicator, int replica, ReduceOp op,
                                      std::span<const DenseOrSparse> values);

}  // namespace lockstep
