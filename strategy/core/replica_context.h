#pragma once

#include <source_location>
#include <string>
#include <tuple>
#include <vector>

#include <lockstep/strategy/comm/sparse_all_reduce.h>
#include <lockstep/strategy/core/strategy.h>

namespace lockstep {

/// A step function's access to its replica and strategy. For the replica's thread alone.
class ReplicaContext {
 public:
  /// Of replica `replica` of this process, on its thread; steps get theirs from get_replica_context.
  ReplicaContext(std::shared_ptr<StrategyState> strategy, int replica)
      : strategy_(std::move(strategy)), replica_(replica) {}

  /// The replica's number among those of all workers, from 0.
  int replica_id_in_sync_group() const { return strategy_->first_replica() + replica_; }
  /// Number of replicas that take part in a step, on all workers.
  int num_replicas_in_sync() const { return strategy_->num_replicas_in_sync(); }
  ///@{
  /// The same among the replicas of this process.
  int local_replica() const { return replica_; }
  int num_local_replicas() const { return static_cast<int>(strategy_->devices().size()); }
  ///@}
  /// The strategy that runs this replica.
  Strategy strategy() const { return Strategy(strategy_.shared()); }

  // The values of all replicas combined, on each of them; every replica has to call it, in the same order. The op may
  // be given by name: all_reduce("SUM", x).

  /// As Communicator::all_reduce. Its gradient, for sum and mean, is the all_reduce of the incoming gradients with the
  /// same op; the others have none, and throw Unsupported under a tape that watches the value.
  Tensor all_reduce(ReduceOpOrName op, const Tensor& value) const;
  /// Several at once, in one collective; they may differ in shape and dtype.
  std::vector<Tensor> all_reduce(ReduceOpOrName op, const std::vector<Tensor>& values) const;
  /// Of a number, as an f32 scalar.
  Tensor all_reduce(ReduceOpOrName op, double value) const;
  /// As lockstep::all_reduce of sparse values: joined, not added up. Without a gradient: throws Unsupported under a
  /// tape that watches them.
  IndexedSlices all_reduce(ReduceOpOrName op, const IndexedSlices& value) const;
  /// Several at once, dense and sparse ones, in one collective.
  std::vector<DenseOrSparse> all_reduce(ReduceOpOrName op, const std::vector<DenseOrSparse>& values) const;

  /// As Communicator::all_gather: the replicas' tensors joined along `axis`. Its gradient is this replica's slice of
  /// the sum of the incoming gradients over the replicas.
  Tensor all_gather(const Tensor& value, int axis) const;
  /// Several at once, in one collective.
  std::vector<Tensor> all_gather(const std::vector<Tensor>& values, int axis) const;
  /// Throws Unsupported: sparse values have no place along an axis.
  [[noreturn]] void all_gather(const IndexedSlices& value, int axis) const;

  /// When every replica of this process is here, calls merge(strategy, args...) once, in cross-replica context, with
  /// all replicas' args, regrouped, a PerReplica for each leaf; on replica 0's thread. Gives each replica its own value
  /// of a result that is PerReplica, any other result whole. Every replica has to call it, in the same order of calls
  /// and from the same line; otherwise LogicError on all of them naming both places.
  template <class Merge, class... Args>
  auto merge_call(Merge&& merge, const std::tuple<Args...>& args = {},
                  std::source_location where = std::source_location::current()) const {
    return merge_at(place_of(where), std::forward<Merge>(merge), args);
  }
  /// The same with a name of the caller's for the merge.
  template <class Merge, class... Args>
  auto merge_at(const std::string& place, Merge&& merge, const std::tuple<Args...>& args) const;

  /// The variable that all replicas make together: replica 0's, whose shape and name, up to TensorFlow's "_1" suffixes,
  /// have to be those of all. Throws LogicError after the strategy's first step.
  std::shared_ptr<VariableState> create_variable(VariableSpec spec) const;

  /// Blocks until every replica is here; `place` names the barrier in errors.
  void barrier(const char* place) const;
  /// The same with the replicas of this process alone.
  void local_barrier(const char* place) const {
    check_here();
    strategy_->group().barrier(replica_, place);
  }
  /// What the replicas combine values with. Throws LogicError on another thread than this replica's.
  Communicator& communicator() const {
    check_here();
    return strategy_->communicator();
  }
  /// What sums their gradients. Throws as communicator.
  GradientUpdate& gradient_update() const {
    check_here();
    return strategy_->gradient_update();
  }

 private:
  static std::string place_of(const std::source_location& where);
  /// Throws LogicError on another thread than this replica's.
  void check_here() const;

  Handle<StrategyState, "replica context"> strategy_;
  int replica_;
};

/// The running replica's context; on a thread outside every strategy, that of the default strategy's one replica.
/// Throws LogicError in a strategy's scope outside `run`.
ReplicaContext get_replica_context();

template <class Merge, class... Args>
auto ReplicaContext::merge_at(const std::string& place, Merge&& merge, const std::tuple<Args...>& args) const {
  check_here();
  // Every replica makes this function, and replica 0's is called: `posts` are copies of all replicas' `args`.
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
