#pragma once

#include <chrono>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include <lockstep/kernels/update.h>
#include <lockstep/runtime/device/device.h>
#include <lockstep/runtime/variable/variable.h>
#include <lockstep/strategy/collective/collective.h>
#include <lockstep/strategy/core/per_replica.h>
#include <lockstep/strategy/input/input_options.h>

namespace lockstep {

class Dataset;
class DistributedDataset;

/// What a kind of strategy is made of: replicas, and rules for variables. Held by handles (Strategy) and models.
class StrategyState {
 public:
  virtual ~StrategyState() = default;

  virtual const std::vector<LogicalDevice>& devices() const = 0;
  /// Calls job(replica) once on each replica's thread and waits for all. Rethrows the first error with the replica
  /// named.
  virtual void run_on_replicas(const std::function<void(int)>& job) = 0;
  virtual std::shared_ptr<VariableState> create_variable(VariableSpec spec) = 0;
  virtual ReplicaGroup& group() = 0;
  virtual Collective& collective() = 0;
};

/// While it lives, variables made on this thread belong to the strategy. Scopes of one strategy nest; throws LogicError
/// inside a replica or inside the scope of another strategy.
class [[nodiscard]] Scope {
 public:
  explicit Scope(std::shared_ptr<StrategyState> strategy);
  ~Scope();
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

 private:
  VariableCreatorScope creator_;
  std::shared_ptr<StrategyState> previous_;
};

/// A handle to a way of training on several devices; copies of it are the same strategy.
class Strategy {
 public:
  explicit Strategy(std::shared_ptr<StrategyState> state) : state_(std::move(state)) {}

  int num_replicas_in_sync() const { return static_cast<int>(state_->devices().size()); }
  /// The replicas' devices, in replica order.
  const std::vector<LogicalDevice>& devices() const { return state_->devices(); }

  /// Variables made while the result lives are this strategy's.
  Scope scope() const { return Scope(state_); }
  /// The result of `build()`, called inside the scope.
  template <class Build>
  decltype(auto) scope(Build&& build) const {
    const Scope inside(state_);
    return std::forward<Build>(build)();
  }

  /// Calls `step` once on each replica, on the replica's own thread, with its own part of every PerReplica (or
  /// DistributedBatch) argument and the others whole, and gives the results by replica. When a replica throws, the
  /// others are released at their next meeting, and the first error is rethrown with the replica named.
  /// Throws LogicError inside a replica, InvalidArgument when an argument was made for another number of replicas.
  template <class Step, class... Args>
  auto run(Step&& step, const Args&... args) const;

  /// Combines the f32 values elementwise, in replica order; shapes must be equal. Only outside a replica.
  Tensor reduce(ReduceOp op, const PerReplica<Tensor>& values) const;

  /// `batches` holds global batches, as Dataset::batch makes them; each is split over the replicas. Include
  /// <lockstep/strategy/input/distributed_dataset.h>. Throws InvalidArgument for options that do not fit.
  DistributedDataset distribute(const Dataset& batches, const DistributeOptions& options = {}) const;
  /// `per_replica_batches` is called once, or once for each replica (InputOptions), for data sets whose elements are
  /// per-replica batches: each step deals one to each replica, and takes that many times a batch's rows.
  DistributedDataset distribute_from_function(const std::function<Dataset(const InputContext&)>& per_replica_batches,
                                              const InputOptions& options = {}) const;

  const std::shared_ptr<StrategyState>& state() const { return state_; }
  friend bool operator==(const Strategy& a, const Strategy& b) { return a.state_ == b.state_; }

 private:
  void check_run(std::initializer_list<int> replicas_of_arguments) const;

  std::shared_ptr<StrategyState> state_;
};

/// Whether a strategy's scope is open on this thread.
bool has_strategy();
/// The strategy of the innermost open scope or of the running replica; else the default one: one replica, on CPU:0,
/// whose variables are plain.
Strategy get_strategy();

template <class Step, class... Args>
auto Strategy::run(Step&& step, const Args&... args) const {
  check_run({replicas_of(args)...});
  using Result = std::decay_t<decltype(step(value_for_replica(args, 0)...))>;
  static_assert(!std::is_same_v<Result, bool>,
                "replicas write side by side, which std::vector<bool> cannot: return int");
  if constexpr (std::is_void_v<Result>) {
    state_->run_on_replicas([&]([[maybe_unused]] int replica) { step(value_for_replica(args, replica)...); });
    (after_step(args, state_->group()), ...);
  } else {
    std::vector<Result> results(static_cast<std::size_t>(num_replicas_in_sync()));
    state_->run_on_replicas([&](int replica) { results[replica] = step(value_for_replica(args, replica)...); });
    (after_step(args, state_->group()), ...);
    return PerReplica<Result>(std::move(results));
  }
}

}  // namespace lockstep
