#pragma once

#include <lockstep/runtime/device/device.h>

namespace lockstep {

/// Where the calling thread computes. Ops allocate their results on `device`; a mirrored variable gives the copy of
/// `replica`.
struct ExecutionContext {
  LogicalDevice device;      ///< where ops run and allocate
  int replica = -1;          ///< among this process's; -1 outside a replica
  int replicas = 1;          ///< in this process, of the strategy that runs this one
  int first_replica = 0;     ///< this process's first one, among those of all processes
  int replicas_in_sync = 1;  ///< of all processes
  int update = -1;           ///< the copy that `Strategy::update` works on; -1 outside one
  bool placed = false;       ///< inside a DeviceScope: what ops read is moved to `device`
  int ahead_threads = 1;     ///< that what is made ahead of the thread (BackgroundQueue) may use

  /// Whether the thread runs a replica's part of a step.
  bool in_replica() const { return replica >= 0; }
  /// The replica's number among those of all processes. Precondition: in_replica.
  int replica_in_sync() const { return first_replica + replica; }
  /// Whether it runs `Strategy::update` of a copy.
  bool in_update() const { return update >= 0; }
};

/// The calling thread's context; on a thread that never set one: CPU:0 with all cores, outside a replica.
const ExecutionContext& current_context();
/// The calling thread's context, but on another device. Its own device stays as it is: a tensor names its device with
/// the cores of the thread that first allocated there.
inline ExecutionContext context_on(const LogicalDevice& device) {
  ExecutionContext context = current_context();
  if (context.device != device) context.device = device;
  return context;
}

/// Sets the calling thread's context for a while.
class ContextScope {
 public:
  /// Until the scope ends: then the context before it holds again.
  explicit ContextScope(const ExecutionContext& context);
  ~ContextScope();
  ContextScope(const ContextScope&) = delete;
  ContextScope& operator=(const ContextScope&) = delete;

 private:
  ExecutionContext previous_;
};

}  // namespace lockstep
