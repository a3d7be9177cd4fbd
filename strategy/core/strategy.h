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

/// What the replicas of this process use to synchronize and to communicate.
struct Coordination {
  ReplicaGroup group;             ///< barrier of the replicas
  Connections connections{};      ///< data exchange
  MergePoint merge_point{group};  ///< lets one thread act for all replicas
};

/// The implementation of a strategy: its replicas and the rules of its variables. Strategy handles and models share it.
class StrategyState {
 public:
  virtual ~StrategyState() = default;

  /// The devices of this process's replicas, in replica order.
  virtual const std::vector<LogicalDevice>& devices() const = 0;
  /// The workers that train together; null if all replicas are in this process.
  virtual Cluster* cluster() const { return nullptr; }
  /// Number of replicas on all workers.
  int num_replicas_in_sync() const;
  /// Index of this process's first replica among the replicas of all workers.
  int first_replica() const;
  /// Calls job(replica) once on each replica's thread and waits for all. Rethrows the first error, with the replica's
  /// name added if it is a lockstep::Error.
  virtual void run_on_replicas(const std::function<void(int)>& job) = 0;
  /// The devices of variables. Each variable has one copy on each of them.
  virtual const std::vector<LogicalDevice>& parameter_devices() const { return devices(); }
  /// Makes a strategy of the same kind, devices and options, without variables.
  virtual std::shared_ptr<StrategyState> clone() const = 0;
  /// Whether a step has completed without an error; replicas can then no longer make variables. Always false if steps
  /// run on the calling thread.
  virtual bool has_stepped() const = 0;
  /// In a replica, the Coordination of the innermost run to which the replica belongs. Elsewhere, the Coordination that
  /// the next run will use.
  virtual Coordination& coordination() = 0;

  ///@{
  /// Parts of coordination().
  ReplicaGroup& group() { return coordination().group; }
  Communicator& communicator() { return *coordination().connections.communicator; }
  GradientUpdate& gradient_update() { return *coordination().connections.update; }
  ///@}

  /// Makes a variable, with the calling thread's name scopes before its name.
  std::shared_ptr<VariableState> make_variable(VariableSpec spec);
  /// The variable of this strategy that has this copy; null if there is none or it no longer exists.
  std::shared_ptr<VariableState> variable_of_copy(const Tensor& copy) const;

 private:
  virtual std::shared_ptr<VariableState> create_variable(VariableSpec spec) = 0;

  mutable std::mutex variables_mutex_;
  std::vector<std::weak_ptr<VariableState>> variables_;  ///< expired ones are removed when a variable is made
};

/// Describes the replica for which Strategy::values_from_function makes a value.
struct ValueContext {
  int replica_id_in_sync_group = 0;  ///< index among the replicas of all workers, from 0
  int num_replicas_in_sync = 1;      ///< number of replicas of all workers
};

/// A function that Strategy::run can call with one replica's parts of the arguments.
template <class Step, class... Args>
concept StepFor = std::invocable<Step&, decltype(value_for_replica(std::declval<const Args&>(), 0))...>;

/// A handle to a strategy for training on several devices. Copies of a handle refer to the same strategy.
class Strategy {
 public:
  /// A handle to `state`.
  explicit Strategy(std::shared_ptr<StrategyState> state) : state_(std::move(state)) {}

  /// Number of replicas of all workers.
  int num_replicas_in_sync() const { return state_->num_replicas_in_sync(); }
  /// Number of replicas in this process.
  int num_local_replicas() const { return static_cast<int>(state_->devices().size()); }
  /// Whether this process is the chief, worker 0, which writes files and prints.
  bool is_chief() const;
  /// The workers, from TF_CONFIG if it is set, otherwise from MPI; nothing if all replicas are in this process.
  std::optional<ClusterSpec> cluster_resolver() const;
  /// The devices of this process's replicas, in replica order.
  const std::vector<LogicalDevice>& devices() const { return state_->devices(); }

  /// Until the result is destroyed, variables made on this thread belong to this strategy.
  Scope scope() const { return Scope(state_.shared()); }
  /// Calls `build` inside the scope and returns its result.
  template <class Build>
  decltype(auto) scope(Build&& build) const {
    const Scope inside(state_.shared());
    return std::forward<Build>(build)();
  }

  /// Calls `step` once for each replica, on the replica's thread, and returns the results as a PerReplica. Each replica
  /// gets its own part of every DistributedBatch argument and of every PerReplica, which may be inside vectors, maps,
  /// pairs and tuples; other values are passed unchanged. If the results are vectors, maps, pairs or tuples, regroup()
  /// turns them into one structure of PerReplica. If a replica throws, the others are released at their next barrier,
  /// and run() rethrows the first error, with the replica's name added if it is a lockstep::Error. May be called inside
  /// merge_call. Throws LogicError inside a replica, inside update() and in the scope of another strategy. Throws
  /// InvalidArgument if an argument has values for another number of replicas.
  template <class Step, class... Args>
  requires StepFor<Step, Args...>
  auto run(Step&& step, const Args&... args) const;

  /// Calls fn(variable, args...) once for each copy of the variable, in copy order, on the calling thread, with the
  /// copy's device as the current device. Returns the results. Inside fn, reading and assigning the variable use that
  /// copy only; fn must keep the copies equal. Each call gets the copy's element of every PerReplica argument. Throws
  /// LogicError inside a replica (use merge_call there) and under another strategy.
  template <class Fn, class... Args>
  auto update(const Variable& variable, Fn&& fn, const Args&... args) const;

  // reduce, weighted_mean and gather combine the values of all workers' replicas; all workers must make the same call.
  // They throw LogicError inside a replica. If they throw another error on one worker, the others throw InvalidArgument
  // with its name and message.

  /// Combines the values elementwise, in replica order. Throws the errors of lockstep::combine. The op can be given by
  /// name: "SUM". For means over uneven batches, use the overload with axes or weighted_mean.
  Tensor reduce(ReduceOpOrName op, const PerReplica<Tensor>& values) const;
  ///@{
  /// Joins the rows of all replicas without adding them up. A mean divides the rows by the number of replicas; ops
  /// other than sum and mean throw Unsupported. If any value is dense, the second overload first makes all dense.
  IndexedSlices reduce(ReduceOpOrName op, const PerReplica<IndexedSlices>& values) const;
  DenseOrSparse reduce(ReduceOpOrName op, const PerReplica<DenseOrSparse>& values) const;
  ///@}
  /// Reduces each replica's value over `axes` (negative: from the end), then over the replicas; the values' sizes along
  /// `axes` may differ. The mean divides by the number of elements of all replicas, which is right for uneven and empty
  /// parts, too. Supports sum for f32, bf16, i32 and i64, and mean for f32 and bf16. Throws Unsupported for other ops.
  Tensor reduce(ReduceOpOrName op, const PerReplica<Tensor>& values, const std::vector<int>& axes) const;
  /// sum(values[r] * counts[r]) / sum(counts): the mean over all examples, from the replicas' means. Ignores values of
  /// count 0, even NaN; if all counts are 0, the result is NaN. Throws InvalidArgument for a negative count.
  Tensor weighted_mean(const PerReplica<Tensor>& values, const PerReplica<double>& counts) const;
  /// Concatenates the values along `axis`, along which their sizes may differ; see lockstep::gather_values.
  Tensor gather(const PerReplica<Tensor>& values, int axis) const;
  /// Each local replica's copy. Throws InvalidArgument if there is neither a single copy nor one copy per replica.
  PerReplica<Tensor> local_results(const Variable& variable) const;
  /// Calls make(ValueContext) for each replica of this process and returns the values.
  template <class Make>
  auto values_from_function(Make&& make) const;

  /// Splits global batches, as Dataset::batch makes them, over the replicas. All workers must pass the same data set.
  /// If the data set supports Dataset::rows_of_batches, a worker makes only its replicas' rows and does not detect
  /// wrong shapes in other rows. Throws InvalidArgument for invalid options, Unsupported for measure_steps with several
  /// workers. Include <lockstep/strategy/input/distributed_dataset.h>.
  DistributedDataset distribute(const Dataset& batches, const DistributeOptions& options = {}) const;
  /// Distributes data sets whose elements are the batches of single replicas: in each step, each replica gets one
  /// batch. Calls `per_replica_batches` as InputOptions::replication_mode says. All workers must call this. Throws
  /// InvalidArgument for invalid options and an empty function.
  DistributedDataset distribute_from_function(const std::function<Dataset(const InputContext&)>& per_replica_batches,
                                              const InputOptions& options = {}) const;

  /// Functions for library code, with TensorFlow's names. Include <lockstep/strategy/core/extended.h>.
  StrategyExtended extended() const;
  /// Makes a strategy of the same kind, devices and options, without variables. The default strategy returns itself.
  Strategy clone() const { return Strategy(state_->clone()); }

  /// The implementation, shared by all handles to this strategy.
  const std::shared_ptr<StrategyState>& state() const { return state_.shared(); }
  /// Whether both are handles to the same strategy.
  friend bool operator==(const Strategy& a, const Strategy& b) { return a.state_ == b.state_; }

 private:
  void check_run(std::initializer_list<int> replicas_of_arguments) const;
  void update_copies(const Variable& variable, const std::function<void(int)>& job) const;

  Handle<StrategyState, "strategy"> state_;
};

/// Whether this thread is in the scope or in a replica of a strategy other than the default one.
bool has_strategy();
/// Whether this thread acts for all replicas: in the scope or a merge of a non-default strategy, outside update().
bool in_cross_replica_context();
/// The strategy of the innermost open scope or of the running replica. If there is none, the default strategy: one
/// replica, on the current device, with plain variables.
Strategy get_strategy();
/// Sets this thread's strategy until the next call; std::nullopt removes it. Throws LogicError in a scope or a replica.
void set_strategy(const std::optional<Strategy>& strategy);

template <class Step, class... Args>
requires StepFor<Step, Args...>
auto Strategy::run(Step&& step, const Args&... args) const {
  check_run({replicas_of(args)...});
  using Result = std::decay_t<decltype(step(value_for_replica(args, 0)...))>;
  static_assert(!std::is_same_v<Result, bool>,
                "replicas write their results concurrently, which std::vector<bool> does not allow: return int");
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
