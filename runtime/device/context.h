#pragma once

#include <lockstep/runtime/device/device.h>

namespace lockstep {

/// The device and replica that a thread computes for. Ops allocate their results on `device`; a mirrored variable
/// returns the copy of `replica`.
struct ExecutionContext {
  LogicalDevice device;      ///< where ops run and allocate
  int replica = -1;          ///< the replica's index in this process; -1 outside a replica
  int replicas = 1;          ///< number of the strategy's replicas in this process
  int first_replica = 0;     ///< index of this process's first replica among the replicas of all processes
  int replicas_in_sync = 1;  ///< number of replicas in all processes
  int update = -1;           ///< index of the variable's copy that `Strategy::update` works on; -1 outside an update
  bool placed = false;       ///< inside a DeviceScope: ops copy their operands to `device`
  int ahead_threads = 1;     ///< number of threads that a BackgroundQueue made by this thread may use

  /// Whether the thread runs a replica's part of a step.
  bool in_replica() const { return replica >= 0; }
  /// The replica's index among the replicas of all processes. Precondition: in_replica().
  int replica_in_sync() const { return first_replica + replica; }
  /// Whether the thread runs `Strategy::update` for a copy.
  bool in_update() const { return update >= 0; }
};

/// The calling thread's context. A thread that has never set a context has CPU:0 with all cores, outside a replica.
const ExecutionContext& current_context();
/// The calling thread's context with `device` as its device. If the thread is already on that device, keeps the
/// context's number of cores, because `device` may be a tensor's device(), whose `cores` come from the thread that
/// first allocated memory on the device.
inline ExecutionContext context_on(const LogicalDevice& device) {
  ExecutionContext context = current_context();
  if (context.device != device) context.device = device;
  return context;
}

/// Sets the calling thread's context during its lifetime.
class ContextScope {
 public:
  /// The destructor restores the previous context.
  explicit ContextScope(const ExecutionContext& context);
  ~ContextScope();
  ContextScope(const ContextScope&) = delete;
  ContextScope& operator=(const ContextScope&) = delete;

 private:
  ExecutionContext previous_;
};

}  // namespace lockstep
