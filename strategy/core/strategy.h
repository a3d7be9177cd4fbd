#pragma once

#include <concepts>
#include <functional>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include <lockstep/kernels/update/reduce.h>
#include <lockstep/runtime/core/handle.h>
#include <lockstep/runtime/device/context.h>
#include <lockstep/runtime/device/device.h>
#include <lockstep/strategy/comm/cluster/cluster_spec.h>
#include <lockstep/strategy/core/batch_rows.h>
#include <lockstep/strategy/core/input_options.h>
#include <lockstep/strategy/core/merge_point.h>
#include <lockstep/strategy/core/per_replica.h>
#include <lockstep/strategy/core/scope.h>
#include <lockstep/strategy/core/structure.h>
#include <lockstep/strategy/core/variable.h>
#include <lockstep/strategy/update/connections.h>

namespace lockstep {

class Dataset;
class DistributedDataset;
class StrategyExtended;

/// What concurrent replicas synchronize and communicate through.
struct Coordination {
  ReplicaGroup group;             ///< where they wait for each other
  Connections connections{};      ///< how they exchange data
  MergePoint merge_point{group};  ///< where one works for all
};

/// The implementation of a kind of strategy: its replicas and its rules for variables. Held by Strategy and models.
class StrategyState {
 public:
  virtual ~StrategyState() = default;

  /// The devices of this process's replicas, in replica order.
  virtual const std::vector<LogicalDevice>& devices() const = 0;
  /// The workers that have the other replicas; null when all replicas are in this process.
  virtual Cluster* cluster() const { return nullptr; }
  /// Number of replicas on all workers.
  int num_replicas_in_sync() const;
  /// The number of this process's first replica among them.
  int first_replica() const;
  /// Calls job(replica) once on each replica's thread and waits for all. Rethrows the first error with the replica
  /// named.
  virtual void run_on_replicas(const std::function<void(int)>& job) = 0;
  /// Where variables are: one copy on each of these.
  virtual const std::vector<LogicalDevice>& parameter_devices() const { return devices(); }
  /// A new strategy of the same kind, devices and options, without the variables.
  virtual std::shared_ptr<StrategyState> clone() const = 0;
  /// Whether a step has ended: from then on replicas cannot make variables.
  virtual bool has_stepped() const = 0;
  /// What the replicas synchronize and communicate through.
  virtual Coordination& coordination() = 0;

  ///@{
  /// Part of coordination().
  ReplicaGroup& group() { return coordination().group; }
  Communicator& communicator() { return *coordination().connections.communicator; }
  GradientUpdate& gradient_update() { return *coordination().connections.update; }
  ///@}

  /// A variable of this kind of strategy, its name inside the calling thread's name scopes.
  std::shared_ptr<VariableState> make_variable(VariableSpec spec);
  /// The variable made above that has this copy; null when it no longer exists.
  std::shared_ptr<VariableState> variable_of_copy(const Tensor& copy) const;

 private:
  virtual std::shared_ptr<VariableState> create_variable(VariableSpec spec) = 0;

  mutable std::mutex variables_mutex_;
  std::vector<std::weak_ptr<VariableState>> variables_;  ///< all of them; expired ones are removed from time to time
};

/// Which replica a value is made for, see Strategy::values_from_function.
struct ValueContext {
  int replica_id_in_sync_group = 0;  ///< the replica's number, from 0
  int num_replicas_in_sync = 1;      ///< the number of replicas
};

/// What `Strategy::run` can call: it takes a replica's parts of the arguments.
template <class Step, class... Args>
concept StepFor = std::invocable<Step&, decltype(value_for_replica(std::declval<const Args&>(), 0))...>;

/// A handle to a strategy for training on several devices; copies of it are the same strategy.
class Strategy {
 public:
  /// A handle to an implementation.
  explicit Strategy(std::shared_ptr<StrategyState> state) : state_(std::move(state)) {}

  /// Number of replicas that take part in a step, on all workers.
  int num_replicas_in_sync() const { return state_->num_replicas_in_sync(); }
  /// Number of them in this process: all, unless there are other workers.
  int num_local_replicas() const { return static_cast<int>(state_->devices().size()); }
  /// Whether this process is the chief, worker 0, which writes files and prints.
  bool is_chief() const;
  /// The workers; nothing when all replicas are in this process.
  std::optional<ClusterSpec> cluster_resolver() const;
  /// The devices of this process's replicas, in replica order.
  const std::vector<LogicalDevice>& devices() const { return state_->devices(); }

  /// Variables made while the result lives are this strategy's.
  Scope scope() const { return Scope(state_.shared()); }
  /// Returns `build()`, called inside the scope.
  template <class Build>
  decltype(auto) scope(Build&& build) const {
    const Scope inside(state_.shared());
    return std::forward<Build>(build)();
  }

  /// Calls `step` once on each replica, on the replica's own thread, with its own part of every PerReplica (or
  /// DistributedBatch) in the arguments, also inside vectors, maps and tuples, and the others whole, and gives the
  /// results by replica (`regroup` turns structures of results inside out). When a replica throws, the others are
  /// released at their next barrier, and the first error is rethrown with the replica named. May be called in a merge.
  /// Throws LogicError inside a replica or the scope of another strategy, InvalidArgument when an argument was made for
  /// another number of replicas.
  template <class Step, class... Args>
  requires StepFor<Step, Args...>
  auto run(Step&& step, const Args&... args) const;

  /// Calls fn(variable, args...) once for each copy of the variable, on the copy's device, in copy order; reading and
  /// assigning the variable there use that copy alone. PerReplica arguments are cut as for `run`. Gives the results
  /// by copy. Keeping the copies equal is up to fn. Throws LogicError inside a replica: use merge_call there.
  template <class Fn, class... Args>
  auto update(const Variable& variable, Fn&& fn, const Args&... args) const;

  // With several workers these take the values of this worker's replicas, combine those of all, and have to be called
  // by all workers.

  /// Combines the values elementwise, in replica order; shapes must be equal. The op may be given by name: "SUM". Only
  /// outside a replica. For means over uneven batches see the overload with axes, and `weighted_mean`.
  Tensor reduce(ReduceOpOrName op, const PerReplica<Tensor>& values) const;
  ///@{
  /// The rows of all replicas, joined but not added up. Ops sum and mean, which divides by the number of replicas.
  /// Dense where some replica's value is.
  IndexedSlices reduce(ReduceOpOrName op, const PerReplica<IndexedSlices>& values) const;
  DenseOrSparse reduce(ReduceOpOrName op, const PerReplica<DenseOrSparse>& values) const;
  ///@}
  /// First over `axes` (negative: from the end) within each replica, then over the replicas, whose sizes along the axes
  /// may differ. The mean divides by the number of elements of all replicas, so that uneven and empty ones are exact.
  /// Op sum, of f32, i32 and i64, or mean, of f32; other ops throw Unsupported.
  Tensor reduce(ReduceOpOrName op, const PerReplica<Tensor>& values, const std::vector<int>& axes) const;
  /// sum(values[r] * counts[r]) / sum(counts): the mean over all examples from the replicas' means.
  Tensor weighted_mean(const PerReplica<Tensor>& values, const PerReplica<double>& counts) const;
  /// The replicas' values one after the other along `axis`, along which their sizes may differ.
  Tensor gather(const PerReplica<Tensor>& values, int axis) const;
  /// The variable's copies, one for each replica.
  PerReplica<Tensor> local_results(const Variable& variable) const;
  /// f(ValueContext) for each replica of this process.
  template <class Make>
  auto values_from_function(Make&& make) const;

  /// `batches` holds global batches, as Dataset::batch makes them, the same on all workers; each is split over the
  /// replicas, and a worker takes the rows of its replicas. Where Dataset::rows_of_batches allows, it makes only those;
  /// wrong shapes in other workers' rows are then not detected. Include
  /// <lockstep/strategy/input/distributed_dataset.h>. Throws InvalidArgument for options that do not fit.
  DistributedDataset distribute(const Dataset& batches, const DistributeOptions& options = {}) const;
  /// `per_replica_batches` is called once on each worker, or for each replica (InputOptions), for sets whose elements
  /// are per-replica batches: each step gives one to each replica.
  DistributedDataset distribute_from_function(const std::function<Dataset(const InputContext&)>& per_replica_batches,
                                              const InputOptions& options = {}) const;

  /// Further functions for library code, under TensorFlow's names. Include <lockstep/strategy/core/extended.h>.
  StrategyExtended extended() const;
  /// A new strategy of the same kind, devices and options, without this one's variables. For the default
  /// strategy, itself.
  Strategy clone() const { return Strategy(state_->clone()); }

  /// What the handles share.
  const std::shared_ptr<StrategyState>& state() const { return state_.shared(); }
  /// Whether both are handles to the same strategy.
  friend bool operator==(const Strategy& a, const Strategy& b) { return a.state_ == b.state_; }

 private:
  void check_run(std::initializer_list<int> replicas_of_arguments) const;
  void update_copies(const Variable& variable, const std::function<void(int)>& job) const;

  Handle<StrategyState, "strategy"> state_;
};

/// Whether the scope of a strategy other than the default one is open on this thread, or one of its replicas runs on
/// it.
bool has_strategy();
/// Whether this thread is in a strategy's scope or in a merge, and so acts for all replicas.
bool in_cross_replica_context();
/// The strategy of the innermost open scope or of the running replica; else the default one: one replica, on the
/// current device, whose variables are plain.
Strategy get_strategy();
/// Makes `strategy` this thread's strategy from here on, as if in its scope, without an end.
/// Throws LogicError inside a scope or a replica.
void set_strategy(const std::optional<Strategy>& strategy);

template <class Step, class... Args>
requires StepFor<Step, Args...>
auto Strategy::run(Step&& step, const Args&... args) const {
  check_run({replicas_of(args)...});
  using Result = std::decay_t<decltype(step(value_for_replica(args, 0)...))>;
  static_assert(!std::is_same_v<Result, bool>,
                "replicas write side by side, which std::vector<bool> cannot: return int");
  const auto call = [&]([[maybe_unused]] int replica) -> Result {
    const BatchRowsScope rows(first_batch_rows({batch_rows(args, replica)...}));
    return step(value_for_replica(args, replica)...);
  };
  if constexpr (std::is_void_v<Result>) {
    state_->run_on_replicas(call);
    (after_step(args, state_->group()), ...);
  } else {
    std::vector<Result> results(static_cast<std::size_t>(num_local_replicas()));
    state_->run_on_replicas([&](int replica) { results[replica] = call(replica); });
    (after_step(args, state_->group()), ...);
    return PerReplica<Result>(std::move(results));
  }
}

template <class Fn, class... Args>
auto Strategy::update(const Variable& variable, Fn&& fn, const Args&... args) const {
  using Result = std::decay_t<decltype(fn(variable, value_for_replica(args, 0)...))>;
  if constexpr (std::is_void_v<Result>) {
    update_copies(variable, [&]([[maybe_unused]] int copy) { fn(variable, value_for_replica(args, copy)...); });
  } else {
    std::vector<Result> results;
    update_copies(variable, [&]([[maybe_unused]] int copy) {
      results.push_back(fn(variable, value_for_replica(args, copy)...));
    });
    return PerReplica<Result>(std::move(results));
  }
}

template <class Make>
auto Strategy::values_from_function(Make&& make) const {
  std::vector<std::decay_t<decltype(make(ValueContext{}))>> values;
  for (int replica = 0; replica < num_local_replicas(); ++replica)
    values.push_back(make(ValueContext{state_->first_replica() + replica, num_replicas_in_sync()}));
  return PerReplica<typename decltype(values)::value_type>(std::move(values));
}

}  // namespace lockstep
