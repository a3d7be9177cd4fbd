#pragma once

#include <vector>

#include <lockstep/strategy/collective/sparse_all_reduce.h>
#include <lockstep/strategy/core/strategy.h>

namespace lockstep {

/// What a step function sees of the strategy that runs it.
class ReplicaContext {
 public:
  ReplicaContext(std::shared_ptr<StrategyState> strategy, int replica)
      : strategy_(std::move(strategy)), replica_(replica) {}

  int replica_id_in_sync_group() const { return replica_; }
  int num_replicas_in_sync() const { return static_cast<int>(strategy_->devices().size()); }
  Strategy strategy() const { return Strategy(strategy_); }

  // The values of all replicas combined, on each of them; every replica has to call it, in the same order. The op may
  // be given by name: all_reduce("SUM", x).

  /// As Collective::all_reduce. Its gradient, for sum and mean, is the all_reduce of the incoming gradients with the
  /// same op; the others have none, and throw Unsupported under a tape that watches the value.
  Tensor all_reduce(ReduceOpOrName op, const Tensor& value) const;
  /// Several at once, in one meeting; they may differ in shape and dtype.
  std::vector<Tensor> all_reduce(ReduceOpOrName op, const std::vector<Tensor>& values) const;
  /// Of a number, as an f32 scalar.
  Tensor all_reduce(ReduceOpOrName op, double value) const;
  /// As lockstep::all_reduce of sparse values: joined, not added up. Without a gradient: throws Unsupported under a
  /// tape that watches them.
  IndexedSlices all_reduce(ReduceOpOrName op, const IndexedSlices& value) const;
  std::vector<DenseOrSparse> all_reduce(ReduceOpOrName op, const std::vector<DenseOrSparse>& values) const;

  /// As Collective::all_gather: the replicas' tensors joined along `axis`. Its gradient is this replica's slice of the
  /// sum of the incoming gradients over the replicas.
  Tensor all_gather(const Tensor& value, int axis) const;
  /// Several at once, in one meeting.
  std::vector<Tensor> all_gather(const std::vector<Tensor>& values, int axis) const;
  /// Throws Unsupported: sparse values have no place along an axis.
  [[noreturn]] void all_gather(const IndexedSlices& value, int axis) const;

  /// Blocks until every replica is here; `place` names the meeting in errors.
  void meet(const char* place) const { strategy_->group().meet(replica_, place); }
  Collective& collective() const { return strategy_->collective(); }

 private:
  std::shared_ptr<StrategyState> strategy_;
  int replica_;
};

/// The running replica's context; on a thread outside every strategy, that of the default strategy's one replica.
/// Throws LogicError in a strategy's scope outside `run`.
ReplicaContext get_replica_context();

}  // namespace lockstep
