#pragma once

#include <string_view>

#include <lockstep/kernels/update/reduce.h>
#include <lockstep/strategy/comm/cluster/cluster.h>
#include <lockstep/strategy/comm/communicator.h>

// Values of several workers combined: called by one thread of each of them, in the same order, with the same `place`.
// Where their values do not fit together, all of them throw the same InvalidArgument, naming what two of them have.

namespace lockstep {

/// Elements in the host's memory that are replaced by those of all workers combined, the same bits on each.
struct WorkerRange {
  void* values = nullptr;     ///< of the dtype that the function is given
  std::int64_t elements = 0;  ///< how many
};

/// Each worker adds up one part of the elements, in worker order, and sends the sums to the others: every element
/// crosses the network twice, however many workers there are. `terms` is what a mean divides by. f32, i32 and i64.
/// `scratch` is memory that is made when it is needed and may be kept for the next call. Asks nobody whether the ranges
/// fit together.
void all_reduce_ranges(Cluster& cluster, std::string_view place, ReduceOp op, DType dtype,
                       std::span<const WorkerRange> ranges, std::int64_t terms, Tensor& scratch,
                       Channel channel = Channel::steps);

/// The value, dense and in the host's memory, combined with those of the other workers, in new memory. bf16 is added in
/// f32. `terms` as above.
Tensor all_reduce_over(Cluster& cluster, std::string_view place, ReduceOp op, const Tensor& own, std::int64_t terms);
/// Every worker's numbers, in worker order; each may have another number of them.
std::vector<std::vector<double>> gather_numbers(Cluster& cluster, std::string_view place, std::span<const double> own);
/// The sum of one from each.
double sum_over(Cluster& cluster, std::string_view place, double own);
/// The workers' values joined along `axis`, along which they may differ in size, on the host.
Gathered all_gather_over(Cluster& cluster, std::string_view place, const Tensor& own, int axis);
/// The chief's value, of the shape that it has there; on the host.
Tensor value_of_chief(Cluster& cluster, std::string_view place, const Tensor& own);

}  // namespace lockstep
