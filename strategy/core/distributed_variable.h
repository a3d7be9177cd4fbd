#pragma once

#include <memory>

#include <lockstep/strategy/core/variable.h>

namespace lockstep {

class Cluster;
class StrategyState;

/// A variable of a strategy. It cannot be used under another strategy.
class DistributedVariable : public VariableState {
 public:
  /// As VariableState's constructor. `owner` is the variable's strategy.
  DistributedVariable(VariableSpec spec, const std::vector<LogicalDevice>& devices,
                      std::weak_ptr<const StrategyState> owner);
  void check_strategy() const final;
  void scatter_in_replica(ScatterOp op, const IndexedSlices& slices) override;

 protected:
  /// The workers that have the other copies; null if there are none.
  Cluster* workers() const;
  /// Number of the strategy's replicas in processes before this one.
  int first_replica() const;

 private:
  std::weak_ptr<const StrategyState> owner_;
};

/// Copies that are always equal. Replicas write together: their values are combined by the aggregation and every copy
/// gets the result; without an aggregation, their values must be bit-identical.
class MirroredVariable final : public DistributedVariable {
 public:
  using DistributedVariable::DistributedVariable;
  void write_in_replica(AssignOp op, const Tensor& value, bool literal, int replica) override;
};

/// An independent copy for each replica, which only that replica writes in a step. Reading outside a replica combines
/// the copies by the aggregation (batch-norm statistics: mean, weighted by `copy_weights`; metrics: sum).
class SyncOnReadVariable final : public DistributedVariable {
 public:
  using DistributedVariable::DistributedVariable;
  /// The combined value, in new memory. Throws InvalidArgument for Aggregation::none.
  Tensor read() const override;
  /// Sets the copies so that read() returns `value`: each copy to `value` or, if the aggregation is sum, to an equal
  /// share of it; the first copy also gets the remainder of integers. Throws InvalidArgument for adding to a sum or
  /// subtracting from it, which would be ambiguous.
  void write(AssignOp op, const Tensor& value) override;
  void write_in_replica(AssignOp op, const Tensor& value, bool literal, int replica) override;
  /// Throw Unsupported, since the copies are independent.
  void scatter(ScatterOp op, const IndexedSlices& slices) override;
  void scatter_in_replica(ScatterOp op, const IndexedSlices& slices) override;
};

/// One copy for all replicas, which write it together. Ignores Synchronization::on_read.
class AggregatingVariable final : public DistributedVariable {
 public:
  using DistributedVariable::DistributedVariable;
  bool serves_all_replicas() const override { return true; }
  /// Throws InvalidArgument for Aggregation::none.
  void write_in_replica(AssignOp op, const Tensor& value, bool literal, int replica) override;
};

}  // namespace lockstep
