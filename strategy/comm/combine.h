#pragma once

#include <span>
#include <string_view>
#include <vector>

#include <lockstep/kernels/update/reduce.h>
#include <lockstep/runtime/tensor/indexed_slices.h>
#include <lockstep/runtime/tensor/tensor.h>
#include <lockstep/strategy/comm/cluster/cluster.h>

namespace lockstep {

/// Combines the replicas' values elementwise, in replica order, into a new tensor. Call it on one thread while no
/// replica runs; replicas use `ReplicaContext::all_reduce`. Throws InvalidArgument if a value is undefined or strided,
/// if the values differ in shape or dtype, and if the op does not support the dtype (check_reducible). Precondition: at
/// least one value.
Tensor combine(ReduceOp op, std::span<const Tensor> values);

/// Joins the rows of all replicas, in replica order, without adding them up; a mean divides the rows' values by the
/// number of replicas. For `workers` and `place` see below. Throws Unsupported for ops other than sum and mean. Throws
/// InvalidArgument if the values differ in dense shape or dtype.
IndexedSlices combine(Cluster* workers, std::string_view place, ReduceOp op, std::span<const IndexedSlices> values);

/// Returns the dtype of the values. Throws InvalidArgument if they differ in dtype, on all workers. For functions that
/// convert bf16 to f32 before they combine values over the workers: if the dtype is bf16 and `workers` is not null,
/// also compares the workers' dtypes, by a collective. Other dtypes are compared by the collective that combines the
/// values.
DType check_same_dtype(Cluster* workers, std::string_view place, std::span<const Tensor> values);

/// Whether tensors of these shapes can be concatenated along `axis`, which must not be negative.
bool joinable(const Shape& a, const Shape& b, int axis);

/// Concatenates the values along `axis` (negative: from the end) into a new tensor. Throws InvalidArgument for scalars,
/// for an axis out of range, and for values that differ in dtype, rank or the size of another axis (the message lists
/// all values).
Tensor gather_values(std::span<const Tensor> values, int axis);

///@{
/// Same as combine and gather_values above, over the replicas of all workers, in worker order. The last overload joins
/// the workers' lists of numbers. One thread of each worker must make the call. `place` names the collective in errors.
/// If one worker's own values cannot be combined, all workers throw (report_on_failure). If `workers` is null, these
/// functions combine only the replicas of this process.
Tensor combine(Cluster* workers, std::string_view place, ReduceOp op, std::span<const Tensor> values);
Tensor gather_values(Cluster* workers, std::string_view place, std::span<const Tensor> values, int axis);
std::vector<double> gather_values(Cluster* workers, std::string_view place, std::span<const double> numbers);
///@}

/// sum(values[r] * weights[r]) / sum(weights) over the replicas of all workers. Precondition: no weight is negative.
/// With equal positive weights, the result is bit-identical to the mean. Ignores values of weight 0, even NaN; if all
/// weights are 0, the result is NaN.
Tensor weighted_mean(Cluster* workers, std::string_view place, std::span<const Tensor> values,
                     std::span<const double> weights);

}  // namespace lockstep
