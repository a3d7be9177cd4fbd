#pragma once

#include <memory>

#include <lockstep/strategy/core/variable.h>

namespace lockstep {

class Cluster;
class StrategyState;

/// A variable of a strategy, which cannot be used under another.
class DistributedVariable : public VariableState {
 public:
  /// As VariableState, for the strategy `owner`.
  DistributedVariable(VariableSpec spec, const std::vector<LogicalDevice>& devices,
                      std::weak_ptr<const StrategyState> owner);
  void check_strategy() const final;
  void scatter_in_replica(ScatterOp op, const IndexedSlices& slices) override;

 protected:
  /// The workers that have the other copies; null when there are none.
  Cluster* workers() const;
  /// Number of the strategy's replicas in other processes before this one's.
  int first_replica() const;

 private:
  std::weak_ptr<const StrategyState> owner_;
};

/// Copies that are equal at all times. Replicas write it together: their values are combined by the aggregation, and
/// every copy gets the result; without one their values have to be equal, bit by bit.
class MirroredVariable final : public DistributedVariable {
 public:
  using DistributedVariable::DistributedVariable;
  void write_in_replica(AssignOp op, const Tensor& value, bool literal, int replica) override;
};

/// One independent copy for each replica, which only that replica writes; outside a replica the copies are read
/// combined by the variable's aggregation (batch-norm statistics: mean, by `copy_weights`; metrics: sum).
class SyncOnReadVariable final : public DistributedVariable {
 public:
  using DistributedVariable::DistributedVariable;
  /// The combined value, in new memory. Throws InvalidArgument for Aggregation::none.
  Tensor read() const override;
  /// Sets the copies so that `read` gives `value`: each copy to it, or for a sum to its equal share; of integers the
  /// first copy keeps the remainder. Throws InvalidArgument for adding to a sum or subtracting from it,
  /// which would be ambiguous.
  void write(AssignOp op, const Tensor& value) override;
  void write_in_replica(AssignOp op, const Tensor& value, bool literal, int replica) override;
  /// Throw Unsupported: the copies are independent.
  void scatter(ScatterOp op, const IndexedSlices& slices) override;
  void scatter_in_replica(ScatterOp op, const IndexedSlices& slices) override;
};

/// One copy for all replicas, which they write together; synchronization on_read has no meaning for it.
class AggregatingVariable final : public DistributedVariable {
 public:
  using DistributedVariable::DistributedVariable;
  bool serves_all_replicas() const override { return true; }
  /// Throws InvalidArgument without an aggregation.
  void write_in_replica(AssignOp op, const Tensor& value, bool literal, int replica) override;
};

}  // namespace lockstep
