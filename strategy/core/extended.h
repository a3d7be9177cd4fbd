#pragma once

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include <lockstep/strategy/core/strategy.h>

namespace lockstep {

/// The destination of a value: one or more devices, a tensor's device, or those of all copies of a variable. Throws
/// InvalidArgument for no device, an undefined tensor or variable, and names that parse_devices refuses; Unsupported
/// for a device that this build cannot use.
class Destinations {
 public:
  ///@{
  /// The given or named devices, or those of the tensor or of the variable's copies.
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

/// Further functions of a strategy for optimizers and other library code; `update` is in Strategy. Functions that work
/// for all replicas throw LogicError in a replica.
class StrategyExtended {
 public:
  /// The result of Strategy::extended.
  explicit StrategyExtended(Strategy strategy) : strategy_(std::move(strategy)) {}

  /// As Strategy::reduce, with the result on each destination, in their order: for the copies of a variable it is
  /// an argument for `update` of that variable.
  PerReplica<Tensor> reduce_to(ReduceOpOrName op, const PerReplica<Tensor>& values, const Destinations& to) const;
  ///@{
  /// The same for slices, or for values that are dense or slices.
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
  /// The variable of this strategy whose memory is `copy`, a value read in a replica. Throws InvalidArgument
  /// when there is none, or it no longer exists: the copy does not keep its variable.
  Variable value_container(const Tensor& copy) const;

  /// The devices of the copies of variables.
  const std::vector<LogicalDevice>& parameter_devices() const { return strategy_.state()->parameter_devices(); }
  /// The devices that compute: one for each replica.
  const std::vector<LogicalDevice>& worker_devices() const { return strategy_.devices(); }
  /// The devices of an optimizer's state for these variables. Throws InvalidArgument for none, LogicError for
  /// another strategy's variable.
  const std::vector<LogicalDevice>& non_slot_devices(const std::vector<Variable>& variables) const;

 private:
  Strategy strategy_;
};

}  // namespace lockstep
