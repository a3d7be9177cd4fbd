#pragma once

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include <lockstep/strategy/core/strategy.h>

namespace lockstep {

/// Destination of a value: one or more devices, the device of a tensor, or the devices of all copies of a variable. The
/// constructors throw InvalidArgument for an empty list of devices, for an undefined tensor or variable, and for names
/// that parse_devices rejects. They throw Unsupported for a device that this build cannot use.
class Destinations {
 public:
  ///@{
  /// The given or named devices, or the devices of the tensor or of the variable's copies.
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

  /// The devices, at least one, in the given order.
  const std::vector<LogicalDevice>& devices() const { return devices_; }

 private:
  std::vector<LogicalDevice> devices_;
};

/// Functions of a strategy for optimizers and other library code. (`update` is a member of Strategy.) Reductions,
/// broadcast_to and read_var throw LogicError inside a replica.
class StrategyExtended {
 public:
  /// Use Strategy::extended().
  explicit StrategyExtended(Strategy strategy) : strategy_(std::move(strategy)) {}

  /// Like Strategy::reduce, but returns a copy of the result on each destination, in their order. With a variable as
  /// destination, the result can be passed to Strategy::update of that variable.
  PerReplica<Tensor> reduce_to(ReduceOpOrName op, const PerReplica<Tensor>& values, const Destinations& to) const;
  ///@{
  /// Same as above, for IndexedSlices and for values that are dense or IndexedSlices.
  PerReplica<IndexedSlices> reduce_to(ReduceOpOrName op, const PerReplica<IndexedSlices>& values,
                                      const Destinations& to) const;
  PerReplica<DenseOrSparse> reduce_to(ReduceOpOrName op, const PerReplica<DenseOrSparse>& values,
                                      const Destinations& to) const;
  ///@}
  ///@{
  /// Like reduce_to, for several values, each with its own destinations. Values may differ in shape and dtype.
  std::vector<PerReplica<Tensor>> batch_reduce_to(
      ReduceOpOrName op, const std::vector<std::pair<PerReplica<Tensor>, Destinations>>& values) const;
  std::vector<PerReplica<IndexedSlices>> batch_reduce_to(
      ReduceOpOrName op, const std::vector<std::pair<PerReplica<IndexedSlices>, Destinations>>& values) const;
  std::vector<PerReplica<DenseOrSparse>> batch_reduce_to(
      ReduceOpOrName op, const std::vector<std::pair<PerReplica<DenseOrSparse>, Destinations>>& values) const;
  ///@}
  /// Returns a copy of the value on each destination, in their order. Throws InvalidArgument for an undefined or
  /// strided tensor.
  PerReplica<Tensor> broadcast_to(const Tensor& value, const Destinations& to) const;

  /// The variable's value in new memory; the copies of an on_read variable are combined by its aggregation.
  Tensor read_var(const Variable& variable) const;
  /// Returns this strategy's variable to which `copy`, a value read in a replica, belongs. Throws InvalidArgument if
  /// there is no such variable or it no longer exists; a copy does not keep its variable alive.
  Variable value_container(const Tensor& copy) const;

  /// The devices on which each variable has a copy.
  const std::vector<LogicalDevice>& parameter_devices() const { return strategy_.state()->parameter_devices(); }
  /// Devices of this process's replicas, in replica order.
  const std::vector<LogicalDevice>& worker_devices() const { return strategy_.devices(); }
  /// The devices on which an optimizer keeps its state for these variables. Throws InvalidArgument for an empty list,
  /// LogicError for a variable of another strategy.
  const std::vector<LogicalDevice>& non_slot_devices(const std::vector<Variable>& variables) const;

 private:
  Strategy strategy_;
};

}  // namespace lockstep
