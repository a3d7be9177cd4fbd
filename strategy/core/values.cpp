#include <lockstep/kernels/ops/elementwise.h>
#include <lockstep/kernels/ops/reduction.h>
#include <lockstep/runtime/autograd/tape.h>
#include <lockstep/runtime/thread/context.h>
#include <lockstep/strategy/core/combine.h>
#include <lockstep/strategy/core/strategy.h>

// How one thread reads the values of all replicas.

namespace lockstep {

void Strategy::check_values(const char* function, const PerReplica<Tensor>& values) const {
  require<LogicError>(!current_context().in_replica(), "{}() was called inside a replica; use all_{} there", function,
                      function);
  require(values.size() == num_replicas_in_sync(), "{}() got values of {} replicas, the strategy has {}", function,
          values.size(), num_replicas_in_sync());
}

Tensor Strategy::reduce(ReduceOpOrName op, const PerReplica<Tensor>& values) const {
  check_values("reduce", values);
  return combine(op, values.local_results());
}

Tensor Strategy::reduce(ReduceOpOrName op, const PerReplica<Tensor>& values, const std::vector<int>& axes) const {
  check_values("reduce", values);
  require<Unsupported>(op == ReduceOp::sum || op == ReduceOp::mean,
                       "reduce() along an axis takes sum or mean, got {}; reduce each replica's value in run() first",
                       name(op));
  const NoGradientScope no_recording;
  const PerReplica<Tensor> sums = values.transform([&](const Tensor& value) { return sum(value, axes); });
  const Tensor total = combine(ReduceOp::sum, sums.local_results());
  if (op == ReduceOp::sum) return total;
  double count = 0;  // elements behind each element of the result
  for (const Tensor& value : values.local_results()) {
    double own = 1;
    for (const int axis : axes) own *= static_cast<double>(value.dim(axis));
    count += own;
  }
  return total / count;
}

Tensor Strategy::weighted_mean(const PerReplica<Tensor>& values, const PerReplica<double>& counts) const {
  check_values("reduce", values);
  require(counts.size() == values.size(), "weighted_mean() got {} values and {} counts", values.size(), counts.size());
  const NoGradientScope no_recording;
  double count = 0;
  std::vector<Tensor> totals;
  for (int replica = 0; replica < values.size(); ++replica) {
    const double own = counts[replica];
    require(own >= 0, "weighted_mean() needs counts of at least 0, replica {} has {}", replica, own);
    count += own;
    // The mean of no examples may be NaN, which 0 times is NaN still.
    totals.push_back(own > 0 ? values[replica] * own : Tensor::zeros(values[replica].shape()));
  }
  return combine(ReduceOp::sum, totals) / count;
}

Tensor Strategy::gather(const PerReplica<Tensor>& values, int axis) const {
  check_values("gather", values);
  return concatenate(values.local_results(), axis);
}

PerReplica<Tensor> Strategy::local_results(const Variable& variable) const {
  std::vector<Tensor> copies;
  for (int replica = 0; replica < num_replicas_in_sync(); ++replica)
    copies.push_back(variable.state().copy_for(replica));
  return PerReplica<Tensor>(std::move(copies));
}

}  // namespace lockstep
