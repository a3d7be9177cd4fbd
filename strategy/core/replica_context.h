#pragma once

#include <source_location>
#include <string>
#include <tuple>
#include <vector>

#include <lockstep/strategy/comm/sparse_all_reduce.h>
#include <lockstep/strategy/core/strategy.h>

namespace lockstep {

/// Gives a step function access to its replica and strategy. Use it only on the replica's thread.
class ReplicaContext {
 public:
  /// For replica `replica` of this process. Steps call get_replica_context().
  ReplicaContext(std::shared_ptr<StrategyState> strategy, int replica)
      : strategy_(std::move(strategy)), replica_(replica) {}

  /// The replica's index among the replicas of all workers, from 0.
  int replica_id_in_sync_group() const { return strategy_->first_replica() + replica_; }
  /// Number of replicas of all workers.
  int num_replicas_in_sync() const { return strategy_->num_replicas_in_sync(); }
  ///@{
  /// The replica's index in this process, and the number of replicas of this process.
  int local_replica() const { return replica_; }
  int num_local_replicas() const { return static_cast<int>(strategy_->devices().size()); }
  ///@}
  /// The strategy that runs this replica.
  Strategy strategy() const { return Strategy(strategy_.shared()); }

  // Collectives: every replica must call them in the same order, and each gets the result. An op can be given by name:
  // all_reduce("SUM", x).

  /// Same as Communicator::all_reduce. The gradient of sum and mean is the all_reduce of the incoming gradients with
  /// the same op. Other ops throw Unsupported under a tape that watches the value.
  Tensor all_reduce(ReduceOpOrName op, const Tensor& value) const;
  /// Combines several tensors in one collective. They may differ in shape and dtype.
  std::vector<Tensor> all_reduce(ReduceOpOrName op, const std::vector<Tensor>& values) const;
  /// Combines a number, as an f32 scalar.
  Tensor all_reduce(ReduceOpOrName op, double value) const;
  /// Same as lockstep::all_reduce for sparse values: joins the rows without adding them up. Has no gradient: throws
  /// Unsupported under a tape that watches the value.
  IndexedSlices all_reduce(ReduceOpOrName op, const IndexedSlices& value) const;
  /// Same as above, for several values, each dense or sparse. Throws Unsupported under a tape that watches any of them.
  std::vector<DenseOrSparse> all_reduce(ReduceOpOrName op, const std::vector<DenseOrSparse>& values) const;

  /// Same as Communicator::all_gather: joins the replicas' tensors along `axis`. The gradient is this replica's slice
  /// of the sum of the incoming gradients over the replicas.
  Tensor all_gather(const Tensor& value, int axis) const;
  /// Joins several tensors in one collective.
  std::vector<Tensor> all_gather(const std::vector<Tensor>& values, int axis) const;
  /// Throws Unsupported: sparse values cannot be joined along an axis.
  [[noreturn]] void all_gather(const IndexedSlices& value, int axis) const;

  /// Waits until every replica of this process has called it, then calls merge(strategy, args...) once, on replica 0's
  /// thread and in cross-replica context. `merge` gets the args of all replicas, regrouped into one structure with a
  /// PerReplica at each leaf. Returns the result of `merge` with each PerReplica in it replaced by this replica's
  /// value. Every replica must make the calls in the same order and from the same source lines; otherwise all of them
  /// throw LogicError naming both places. An exception of `merge` is thrown on replica 0.
  template <class Merge, class... Args>
  auto merge_call(Merge&& merge, const std::tuple<Args...>& args = {},
                  std::source_location where = std::source_location::current()) const {
    return merge_at(place_of(where), std::forward<Merge>(merge), args);
  }
  /// Same as merge_call, but `place` identifies the merge instead of the source line.
  template <class Merge, class... Args>
  auto merge_at(const std::string& place, Merge&& merge, const std::tuple<Args...>& args) const;

  /// Makes one variable for all replicas, from replica 0's spec. Shapes, dtypes and, except for TensorFlow's "_1"
  /// suffixes, names must be equal on all replicas. Throws LogicError if they are not equal, and after the strategy's
  /// first step.
  std::shared_ptr<VariableState> create_variable(VariableSpec spec) const;

  /// Blocks until every replica of all workers has called it. `place` names the barrier in errors.
  void barrier(const char* place) const;
  /// Same as barrier(), for the replicas of this process only.
  void local_barrier(const char* place) const {
    check_here();
    strategy_->group().barrier(replica_, place);
  }
  /// The communicator of this strategy's replicas. Throws LogicError on a thread other than this replica's.
  Communicator& communicator() const {
    check_here();
    return strategy_->communicator();
  }
  /// The gradient update of this strategy's replicas. Throws the same errors as communicator().
  GradientUpdate& gradient_update() const {
    check_here();
    return strategy_->gradient_update();
  }

 private:
  static std::string place_of(const std::source_location& where);
  /// Throws LogicError on a thread other than this replica's.
  void check_here() const;

  Handle<StrategyState, "replica context"> strategy_;
  int replica_;
};

/// The context of the replica that runs on this thread; outside every strategy, the context of the default strategy's
/// only replica. Throws LogicError in a strategy's scope outside `run`.
ReplicaContext get_replica_context();

template <class Merge, class... Args>
auto ReplicaContext::merge_at(const std::string& place, Merge&& merge, const std::tuple<Args...>& args) const {
  check_here();
  // Every replica makes this function; only replica 0's is called. `posts` are copies of all replicas' `args`.
  const auto merge_all = [&](std::span<const MergePoint::Post> posts) {
    std::vector<std::tuple<Args...>> all;
    for (const auto& post : posts) all.push_back(std::move(*static_cast<std::tuple<Args...>*>(post.get())));
    return std::apply([&](const auto&... values) { return merge(strategy(), values...); },
                      regroup(PerReplica(std::move(all))));
  };
  using Result = std::decay_t<decltype(merge_all({}))>;
  MergePoint& point = strategy_->coordination().merge_point;
  auto own_post = std::make_shared<std::tuple<Args...>>(args);
  if constexpr (std::is_void_v<Result>) {
    point.merge(replica_, place, std::move(own_post), [&](std::span<const MergePoint::Post> posts) {
      merge_all(posts);
      return nullptr;
    });
  } else {
    const auto result = point.merge(replica_, place, std::move(own_post), [&](std::span<const MergePoint::Post> posts) {
      return std::make_shared<const Result>(merge_all(posts));
    });
    const auto& own = value_for_replica(*static_cast<const Result*>(result.get()), replica_);
    return std::decay_t<decltype(own)>(own);
  }
}

}  // namespace lockstep
