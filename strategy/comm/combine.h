#pragma once

#include <span>
#include <string_view>
#include <vector>

#include <lockstep/kernels/update/reduce.h>
#include <lockstep/runtime/tensor/indexed_slices.h>
#include <lockstep/runtime/tensor/tensor.h>
#include <lockstep/strategy/comm/cluster/cluster.h>

namespace lockstep {

/// The replicas' values combined elementwise, in replica order, in new memory. For a single thread while no
/// replica runs; replicas use `ReplicaContext::all_reduce`.
/// Throws InvalidArgument unless all are dense and of one shape and dtype, which the op takes (check_reducible).
Tensor combine(ReduceOp op, std::span<const Tensor> values);

/// The rows of all replicas, joined in their order and not added up; for a mean their values are divided by the number
/// of replicas. Throws Unsupported for other ops, InvalidArgument for dense shapes or dtypes that differ.
IndexedSlices combine(Cluster* workers, std::string_view place, ReduceOp op, std::span<const IndexedSlices> values);

/// The values one after the other along `axis` (negative: from the end), in new memory. Throws InvalidArgument, with
/// all shapes, for scalars and for values that differ in dtype, rank or another axis than this.
Tensor concatenate(std::span<const Tensor> values, int axis);

///@{
/// The same with the values of the replicas of all workers, in worker order, on one thread of each of them; `place`
/// names the collective. Without `workers`, of this process alone.
Tensor combine(Cluster* workers, std::string_view place, ReduceOp op, std::span<const Tensor> values);
Tensor concatenate(Cluster* workers, std::string_view place, std::span<const Tensor> values, int axis);
std::vector<double> concatenate(Cluster* workers, std::string_view place, std::span<const double> numbers);
///@}

/// sum(values[r] * weights[r]) / sum(weights) over the replicas of all workers; equal weights give the bits of the
/// mean. Values of weight 0 are ignored, even NaN.
Tensor weighted_mean(Cluster* workers, std::string_view place, std::span<const Tensor> values,
                     std::span<const double> weights);

}  // namespace lockstep
