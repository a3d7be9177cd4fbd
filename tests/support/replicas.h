#pragma once

#include <chrono>
#include <functional>
#include <vector>

#include <support/devices.h>

#include <lockstep/runtime/device/registry.h>
#include <lockstep/strategy/core/replica_context.h>
#include <lockstep/strategy/strategies/mirrored_strategy.h>

// Strategies for tests.

namespace lockstep::test {

/// The numbers of replicas that tests use, including odd numbers.
inline constexpr int replica_counts[] = {1, 2, 3, 4, 5, 8};

inline MirroredStrategy mirrored(int replicas, std::chrono::milliseconds timeout = std::chrono::minutes(4)) {
  return MirroredStrategy(devices(replicas), {.timeout = timeout});
}

/// The cross-device ops that CPU replicas support.
inline constexpr CrossDeviceOps host_cross_device_ops[] = {
    CrossDeviceOps::shared_memory, CrossDeviceOps::hierarchical_copy, CrossDeviceOps::reduction_to_one_device};

inline MirroredStrategy mirrored(int replicas, CrossDeviceOps ops, std::int64_t bytes_per_pack = 0) {
  return MirroredStrategy(
      devices(replicas),
      {.timeout = std::chrono::minutes(4), .cross_device_ops = ops, .bytes_per_pack = bytes_per_pack});
}

/// The id of the calling thread's replica.
inline int this_replica() { return get_replica_context().replica_id_in_sync_group(); }

/// The values make(0), make(1), ... as an argument for `run`.
template <class Make>
auto per_replica(int replicas, Make make) {
  std::vector<decltype(make(0))> values;
  for (int replica = 0; replica < replicas; ++replica) values.push_back(make(replica));
  return PerReplica<decltype(make(0))>(std::move(values));
}

/// A trainable variable with this value.
inline Variable variable_of(const std::string& name, const Tensor& value) {
  return Variable({.name = name,
                   .shape = value.shape(),
                   .initializer = [value](const Tensor& out) { copy(value, out); },
                   .dtype = value.dtype()});
}

}  // namespace lockstep::test
