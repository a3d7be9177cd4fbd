#include <algorithm>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/op/indexed_slices.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/runtime/autograd/tape.h>
#include <lockstep/runtime/device/context.h>
#include <lockstep/strategy/comm/cluster/over_replicas.h>
#include <lockstep/strategy/comm/cluster/over_workers.h>
#include <lockstep/strategy/core/strategy.h>

// The functions of Strategy that read the values of all replicas outside of replicas.

namespace lockstep {

namespace {

template <class T>
void check_values(const Strategy& strategy, const char* function, const PerReplica<T>& values) {
  const int replicas = strategy.num_local_replicas();
  const std::string_view inside = std::string_view(function) == "gather" ? "all_gather" : "all_reduce";
  require<LogicError>(!current_context().in_replica(), "{}() was called inside a replica; use {} there", function,
                      inside);
  report_on_failure(strategy.state()->cluster(), [&] {
    require(values.size() == replicas, "{}() got values of {} replicas, the strategy has {}", function, values.size(),
            replicas);
  });
}

/// The sum of all workers' numbers; `own` if there is no other worker.
double over_workers(const Strategy& strategy, const char* place, double own) {
  Cluster* const workers = strategy.state()->cluster();
  return workers ? sum_over(*workers, place, own) : own;
}

}  // namespace

Tensor Strategy::reduce(ReduceOpOrName op, const PerReplica<Tensor>& values) const {
  check_values(*this, "reduce", values);
  return combine(state_->cluster(), "reduce", op, values.local_results());
}

IndexedSlices Strategy::reduce(ReduceOpOrName op, const PerReplica<IndexedSlices>& values) const {
  check_values(*this, "reduce", values);
  return combine(state_->cluster(), "reduce", op, values.local_results());
}

DenseOrSparse Strategy::reduce(ReduceOpOrName op, const PerReplica<DenseOrSparse>& values) const {
  check_values(*this, "reduce", values);
  const auto is_sparse = [](const DenseOrSparse& value) { return std::holds_alternative<IndexedSlices>(value); };
  bool all_sparse = std::ranges::all_of(values.local_results(), is_sparse);
  if (Cluster* const workers = state_->cluster()) all_sparse = sum_over(*workers, "reduce", all_sparse ? 0 : 1) == 0;
  if (all_sparse)
    return reduce(op, values.transform([](const DenseOrSparse& value) { return std::get<IndexedSlices>(value); }));
  return reduce(op, report_on_failure(state_->cluster(), [&] { return values.transform(as_dense); }));
}

Tensor Strategy::reduce(ReduceOpOrName op, const PerReplica<Tensor>& values, const std::vector<int>& axes) const {
  check_values(*this, "reduce", values);
  const NoGradientScope no_recording;
  Cluster* const workers = state_->cluster();
  // bf16 is summed and divided in f32, and rounded once.
  const DType dtype = check_same_dtype(workers, "reduce", values.local_results());
  const DType wide = dtype == DType::bf16 ? DType::f32 : dtype;
  const auto sums = report_on_failure(workers, [&] {
    require<Unsupported>(op == ReduceOp::sum || op == ReduceOp::mean,
                         "reduce() along an axis takes sum or mean, got {}; reduce each replica's value in run() first",
                         name(op));
    check_reducible(op, dtype);
    return values.transform([&](const Tensor& value) { return sum(cast(value, wide), axes); });
  });
  const Tensor total = combine(workers, "reduce", ReduceOp::sum, sums.local_results());
  if (op == ReduceOp::sum) return cast(total, dtype);
  double count = 0;  // number of elements that are summed for each element of the result
  for (const Tensor& value : values.local_results()) {
    double own = 1;
    for (const int axis : axes) own *= static_cast<double>(value.dim(axis));
    count += own;
  }
  return cast(total / over_workers(*this, "reduce", count), dtype);
}

Tensor Strategy::weighted_mean(const PerReplica<Tensor>& values, const PerReplica<double>& counts) const {
  check_values(*this, "weighted_mean", values);
  report_on_failure(state_->cluster(), [&] {
    require(counts.size() == values.size(), "weighted_mean() got {} values and {} counts", values.size(),
            counts.size());
    for (int replica = 0; replica < counts.size(); ++replica)
      require(counts[replica] >= 0, "weighted_mean() needs counts of at least 0, replica {} has {}", replica,
              counts[replica]);
  });
  return lockstep::weighted_mean(state_->cluster(), "weighted_mean", values.local_results(), counts.local_results());
}

Tensor Strategy::gather(const PerReplica<Tensor>& values, int axis) const {
  check_values(*this, "gather", values);
  return gather_values(state_->cluster(), "gather", values.local_results(), axis);
}

PerReplica<Tensor> Strategy::local_results(const Variable& variable) const {
  const std::size_t count = variable.state().copies().size();
  require(count == 1 || count == state_->devices().size(),
          "variable '{}' has {} copies for {} replicas: make it inside the strategy's scope()", variable.name(), count,
          num_local_replicas());
  std::vector<Tensor> copies;
  for (int replica = 0; replica < num_local_replicas(); ++replica) copies.push_back(variable.state().copy_for(replica));
  return PerReplica<Tensor>(std::move(copies));
}

}  // namespace lockstep
