#pragma once

#include <memory>

#include <lockstep/strategy/core/variable.h>

namespace lockstep {

class Cluster;
class StrategyState;

/// A variable of a strategy. It cannot be used under another strategy.
class DistributedVariable : public VariableState {
 public:
  /// See VariableState's constructor. `owner` is the variable's strategy.
  DistributedVariable(VariableSpec spec, const std::vector<LogicalDevice>& devices,
                      std::weak_ptr<const StrategyState> owner);
  void check_strategy() const final;
  void scatter_in_replica(ScatterOp op, const IndexedSlices& slices) override;

 protected:
  /// The workers that train together; null if all replicas are in this process.
  Cluster* workers() const;
  /// Number of the strategy's replicas in processes before this one.
  int first_replica() const;

 private:
  std::weak_ptr<const StrategyState> owner_;
};

/// Copies that are always equal. All replicas must write together. Every copy gets the replicas' values combined by the
/// aggregation; without an aggregation, the values must be bit-identical.
class MirroredVariable final : public DistributedVariable {
 public:
  using DistributedVariable::DistributedVariable;
  void write_in_replica(AssignOp op, const Tensor& value, bool literal, int replica) override;
};

/// An independent copy for each replica, which only that replica writes in a step. Reading outside a replica combines
/// the copies of all workers by the aggregation: e.g. their sum for metrics, or their mean, weighted by copy_weights(),
/// for batch-norm statistics.
class SyncOnReadVariable final : public DistributedVariable {
 public:
  using DistributedVariable::DistributedVariable;
  /// The combined value, in new memory. Throws InvalidArgument for Aggregation::none.
  Tensor read() const override;
  /// With an aggregation other than sum, applies `op` to each copy. With sum, sets each copy to an equal share of
  /// `value`; for integers, the first copy of the first worker also gets the remainder. With aggregation sum, throws
  /// InvalidArgument for a bool variable. Also throws it for AssignOp::add and sub, because it is then undefined
  /// whether `value` counts once or once per replica.
  void write(AssignOp op, const Tensor& value) override;
  void write_in_replica(AssignOp op, const Tensor& value, bool literal, int replica) override;
  ///@{
  /// Throws Unsupported.
  void scatter(ScatterOp op, const IndexedSlices& slices) override;
  void scatter_in_replica(ScatterOp op, const IndexedSlices& slices) override;
  ///@}
};

/// One copy for all replicas, which must write it together. Treats Synchronization::on_read as on_write.
class AggregatingVariable final : public DistributedVariable {
 public:
  using DistributedVariable::DistributedVariable;
  bool serves_all_replicas() const override { return true; }
  /// Throws InvalidArgument for Aggregation::none.
  void write_in_replica(AssignOp op, const Tensor& value, bool literal, int replica) override;
};

}  // namespace lockstep
