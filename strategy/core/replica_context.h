#pragma once

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

  /// The values of all replicas combined, on each of them; every replica has to call it, in the same order. Its
  /// gradient, for sum and mean, is the all_reduce of the incoming gradients with the same op; max and min have none.
  Tensor all_reduce(ReduceOp op, const Tensor& value) const;
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
