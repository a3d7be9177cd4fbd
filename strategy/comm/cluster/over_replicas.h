#pragma once

#include <span>
#include <string_view>
#include <vector>

#include <lockstep/kernels/update/reduce.h>
#include <lockstep/runtime/tensor/indexed_slices.h>
#include <lockstep/runtime/tensor/tensor.h>
#include <lockstep/strategy/comm/cluster/cluster.h>

// Combines values over the replicas of all workers, in worker order. One thread of each worker must call these
// functions. `place` names the collective in errors. If `workers` is null, they combine only the replicas of this
// process. If one worker's own values cannot be combined, all workers throw (report_on_failure).

namespace lockstep {

///@{
/// Same as combine and gather_values (combine.h), over the replicas of all workers. The last overload joins the
/// workers' lists of numbers.
Tensor combine(Cluster* workers, std::string_view place, ReduceOp op, std::span<const Tensor> values);
Tensor gather_values(Cluster* workers, std::string_view place, std::span<const Tensor> values, int axis);
std::vector<double> gather_values(Cluster* workers, std::string_view place, std::span<const double> numbers);
///@}

/// Joins the rows of all replicas, in replica order, without adding them up; a mean divides the rows' values by the
/// number of replicas. Throws Unsupported for ops other than sum and mean. Throws InvalidArgument if the values differ
/// in dense shape or dtype.
IndexedSlices combine(Cluster* workers, std::string_view place, ReduceOp op, std::span<const IndexedSlices> values);

/// Returns the dtype of the values. Throws InvalidArgument if they differ in dtype, on all workers. For functions that
/// convert bf16 to f32 before they combine values over the workers: if the dtype is bf16 and `workers` is not null,
/// also compares the workers' dtypes, by a collective. Other dtypes are compared by the collective that combines the
/// values.
DType check_same_dtype(Cluster* workers, std::string_view place, std::span<const Tensor> values);

/// sum(values[r] * weights[r]) / sum(weights) over the replicas of all workers. Precondition: no weight is negative.
/// With equal positive weights, the result is bit-identical to the mean. Ignores values of weight 0, even NaN; if all
/// weights are 0, the result is NaN.
Tensor weighted_mean(Cluster* workers, std::string_view place, std::span<const Tensor> values,
                     std::span<const double> weights);

}  // namespace lockstep
