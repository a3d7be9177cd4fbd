#pragma once

#include <string_view>

#include <lockstep/kernels/update/reduce.h>
#include <lockstep/strategy/comm/cluster/cluster.h>
#include <lockstep/strategy/comm/communicator.h>

// Combines values of several workers. One thread of each worker calls these functions, in the same order and with the
// same `place`. all_reduce_over and all_gather_over throw the same InvalidArgument on all workers if the workers'
// values cannot be combined, for example because of different dtypes; its message names two workers and their values.

namespace lockstep {

/// Elements in host memory. all_reduce_ranges replaces them by the combination of all workers' elements, which is
/// bit-identical on all workers.
struct WorkerRange {
  void* values = nullptr;     ///< their dtype is an argument of all_reduce_ranges
  std::int64_t elements = 0;  ///< number of elements
};

/// Each worker reduces one part of the elements, in worker order, and sends the result to the others. Each worker sends
/// and receives less than twice the size of the ranges, for any number of workers. Supports f32, i32 and i64. `terms`
/// is the divisor of a mean. `scratch` is allocated when needed and can be reused in the next call. Does not check that
/// the workers pass ranges of the same sizes.
void all_reduce_ranges(Cluster& cluster, std::string_view place, ReduceOp op, DType dtype,
                       std::span<const WorkerRange> ranges, std::int64_t terms, Tensor& scratch,
                       Channel channel = Channel::steps);

/// Returns `own` combined with the values of the other workers, dense, in new host memory. Adds bf16 in f32 and rounds
/// once. `terms` is the divisor of a mean.
Tensor all_reduce_over(Cluster& cluster, std::string_view place, ReduceOp op, const Tensor& own, std::int64_t terms);
/// Returns every worker's list of numbers, in worker order. The lists may differ in length.
std::vector<std::vector<double>> gather_numbers(Cluster& cluster, std::string_view place, std::span<const double> own);
/// Returns the sum of `own` over all workers, in worker order.
double sum_over(Cluster& cluster, std::string_view place, double own);
/// Joins the workers' values along `axis`, along which their sizes may differ. The result is in host memory.
Gathered all_gather_over(Cluster& cluster, std::string_view place, const Tensor& own, int axis);
/// Returns the chief's value in host memory, with the chief's shape and dtype.
Tensor value_of_chief(Cluster& cluster, std::string_view place, const Tensor& own);

}  // namespace lockstep
