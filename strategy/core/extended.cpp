#include "lockstep/strategy/core/extended.h"

#include <lockstep/runtime/device/registry.h>
#include <lockstep/runtime/memory/device_memory.h>

namespace lockstep {
namespace {

void check_outside(const char* function) {
  require<LogicError>(!current_context().in_replica(),
                      "{}() was called inside a replica; call it in the function given to merge_call", function);
}

Tensor copy_on(const Tensor& value, const LogicalDevice& device) {
  const Tensor result = Tensor::empty(value.shape(), value.dtype(), device);
  copy(value, result);
  return result;
}

IndexedSlices copy_on(const IndexedSlices& value, const LogicalDevice& device) {
  return {copy_on(value.values, device), copy_on(value.indices, device), value.dense_shape};
}

DenseOrSparse copy_on(const DenseOrSparse& value, const LogicalDevice& device) {
  return std::visit([&](const auto& own) -> DenseOrSparse { return copy_on(own, device); }, value);
}

template <class T>
PerReplica<T> copies_on(const T& value, const std::vector<LogicalDevice>& devices) {
  std::vector<T> copies;
  for (const LogicalDevice& device : devices) copies.push_back(copy_on(value, device));
  return PerReplica<T>(std::move(copies));
}

template <class T>
std::vector<PerReplica<T>> reduce_all(const Strategy& strategy, ReduceOpOrName op,
                                      const std::vector<std::pair<PerReplica<T>, Destinations>>& values) {
  check_outside("batch_reduce_to");
  std::vector<PerReplica<T>> results;
  for (const auto& [value, to] : values) results.push_back(copies_on(strategy.reduce(op, value), to.devices()));
  return results;
}

LogicalDevice device_of(const Tensor& tensor) {
  require(tensor.defined(), "a destination must be a device, a tensor or a variable, got an undefined tensor");
  return tensor.device();
}

std::vector<LogicalDevice> devices_of(const Variable& variable) {
  require(variable.defined(), "a destination must be a device, a tensor or a variable, got an undefined variable");
  std::vector<LogicalDevice> devices;
  for (const Tensor& copy : variable.state().copies()) devices.push_back(copy.device());
  return devices;
}

}  // namespace

Destinations::Destinations(std::vector<LogicalDevice> devices) : devices_(std::move(devices)) {
  require(!devices_.empty(), "the destinations must not be empty: name a device, several, or a variable");
  for (const LogicalDevice& device : devices_) memory_resource(device);  // throws for unusable devices
}

Destinations::Destinations(const std::vector<std::string>& names) : Destinations(parse_devices(names)) {}

Destinations::Destinations(const Tensor& tensor) : Destinations(device_of(tensor)) {}

Destinations::Destinations(const Variable& variable) : Destinations(devices_of(variable)) {}

PerReplica<Tensor> StrategyExtended::reduce_to(ReduceOpOrName op, const PerReplica<Tensor>& values,
                                               const Destinations& to) const {
  check_outside("reduce_to");
  return copies_on(strategy_.reduce(op, values), to.devices());
}

PerReplica<IndexedSlices> StrategyExtended::reduce_to(ReduceOpOrName op, const PerReplica<IndexedSlices>& values,
                                                      const Destinations& to) const {
  check_outside("reduce_to");
  return copies_on(strategy_.reduce(op, values), to.devices());
}

PerReplica<DenseOrSparse> StrategyExtended::reduce_to(ReduceOpOrName op, const PerReplica<DenseOrSparse>& values,
                                                      const Destinations& to) const {
  check_outside("reduce_to");
  return copies_on(strategy_.reduce(op, values), to.devices());
}

std::vector<PerReplica<Tensor>> StrategyExtended::batch_reduce_to(
    ReduceOpOrName op, const std::vector<std::pair<PerReplica<Tensor>, Destinations>>& values) const {
  return reduce_all(strategy_, op, values);
}

std::vector<PerReplica<IndexedSlices>> StrategyExtended::batch_reduce_to(
    ReduceOpOrName op, const std::vector<std::pair<PerReplica<IndexedSlices>, Destinations>>& values) const {
  return reduce_all(strategy_, op, values);
}

std::vector<PerReplica<DenseOrSparse>> StrategyExtended::batch_reduce_to(
    ReduceOpOrName op, const std::vector<std::pair<PerReplica<DenseOrSparse>, Destinations>>& values) const {
  return reduce_all(strategy_, op, values);
}

PerReplica<Tensor> StrategyExtended::broadcast_to(const Tensor& value, const Destinations& to) const {
  check_outside("broadcast_to");
  require(value.defined(), "broadcast_to() takes a tensor, got an undefined one");
  return copies_on(value, to.devices());
}

Tensor StrategyExtended::read_var(const Variable& variable) const {
  check_outside("read_var");
  const Tensor value = variable.value();
  return copies_on(value, {value.device()})[0];
}

Variable StrategyExtended::value_container(const Tensor& copy) const {
  auto state = strategy_.state()->variable_of_copy(copy);
  require(state != nullptr, "value_container() takes a copy of one of this strategy's variables, got {}", copy);
  return Variable(std::move(state));
}

const std::vector<LogicalDevice>& StrategyExtended::non_slot_devices(const std::vector<Variable>& variables) const {
  require(!variables.empty(), "non_slot_devices() needs a variable");
  for (const Variable& variable : variables)
    require<LogicError>(
        strategy_.state()->variable_of_copy(variable.state().copies().front()).get() == &variable.state(),
        "mixing different strategies: variable '{}' was made outside the scope of this one", variable.name());
  return parameter_devices();
}

StrategyExtended Strategy::extended() const { return StrategyExtended(*this); }

}  // namespace lockstep
