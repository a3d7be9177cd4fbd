#pragma once

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include <lockstep/strategy/core/strategy.h>

namespace lockstep {

/// Where a value is left: on a device or several, on a tensor's device, or on those of all copies of a variable. Throws
/// InvalidArgument for no device, an undefined tensor or variable, and names that parse_devices refuses; Unsupported
/// for a device that this build cannot use.
class Destinations {
 public:
  ///@{
  /// The devices given, named, or that the tensor or the variable's copies are on.
  Destinations(std::vector<LogicalDevice> devices);                                 // NOLINT: implicit
  Destinations(const LogicalDevice& device) : Destinations(std::vector{device}) {}  // NOLINT: implicit
  Destinations(const std::vector<std::string>& names);                              // NOLINT: implicit
  Destinations(const std::string& name) : Destinations(std::vector{name}) {}        // NOLINT: implicit
  Destinations(const char* name) : Destinations(std::vector{std::string(name)}) {}  // NOLINT: implicit
  Destinations(std::initializer_list<LogicalDevice> devices) : Destinations(std::vector(devices)) {}
  Destinations(std::initializer_list<std::string> names) : Destinations(std::vector(names)) {}
  Destinations(const Tensor& tensor);      // NOLINT: implicit
  Destinations(const Variable& variable);  // NOLINT: implicit
  ///@}

  /// One or more, in the order given.
  const std::vector<LogicalDevice>& devices() const { return devices_; }

 private:
  std::vector<LogicalDevice> devices_;
};

/// The part of a strategy that optimizers and the like are written with; `update` is Strategy's own. What works for all
/// replicas throws LogicError in one of them.
class StrategyExtended {
 public:
  /// What Strategy::extended gives.
  explicit StrategyExtended(Strategy strategy) : strategy_(std::move(strategy)) {}

  /// As Strategy::reduce, the result left on each destination, in their order: with a variable as the destination it is
  /// an argument for `update` of that variable.
  PerReplica<Tensor> reduce_to(ReduceOpOrName op, const PerReplica<Tensor>& values, const Destinations& to) const;
  ///@{
  /// The same of slices, or of values that are dense or slices.
  PerReplica<IndexedSlices> reduce_to(ReduceOpOrName op, const PerReplica<IndexedSlices>& values,
                                      const Destinations& to) const;
  PerReplica<DenseOrSparse> reduce_to(ReduceOpOrName op, const PerReplica<DenseOrSparse>& values,
                                      const Destinations& to) const;
  ///@}
  ///@{
  /// Several at once, each with its own destinations; they may differ in shape and dtype.
  std::vector<PerReplica<Tensor>> batch_reduce_to(
      ReduceOpOrName op, const std::vector<std::pair<PerReplica<Tensor>, Destinations>>& values) const;
  std::vector<PerReplica<IndexedSlices>> batch_reduce_to(
      ReduceOpOrName op, const std::vector<std::pair<PerReplica<IndexedSlices>, Destinations>>& values) const;
  std::vector<PerReplica<DenseOrSparse>> batch_reduce_to(
      ReduceOpOrName op, const std::vector<std::pair<PerReplica<DenseOrSparse>, Destinations>>& values) const;
  ///@}
  /// A copy of the value on each destination, in their order.
  PerReplica<Tensor> broadcast_to(const Tensor& value, const Destinations& to) const;

  /// The value of all copies, combined by the variable's aggregation where they are independent, in new memory.
  Tensor read_var(const Variable& variable) const;
  /// The variable of this strategy that `copy`, a value read in a replica, is the memory of. Throws InvalidArgument
  /// when there is none (any more): the copy does not keep its variable.
  Variable value_container(const Tensor& copy) const;

  /// The devices of the copies of variables.
  const std::vector<LogicalDevice>& parameter_devices() const { return strategy_.state()->parameter_devices(); }
  /// The devices that compute: one for each replica.
  const std::vector<LogicalDevice>& worker_devices() const { return strategy_.devices(); }
  /// Where an optimizer keeps what belongs to all of these variables. Throws InvalidArgument for none, LogicError for
  /// one that is not this strategy's.
  const std::vector<LogicalDevice>& non_slot_devices(const std::vector<Variable>& variables) const;

 private:
  Strategy strategy_;
};

}  // namespace lockstep
