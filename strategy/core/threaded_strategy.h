#pragma once

#include <atomic>
#include <chrono>
#include <exception>
#include <memory>
#include <mutex>
#include <vector>

#include <lockstep/strategy/core/strategy.h>

namespace lockstep {

/// How concurrent replicas synchronize and exchange data.
struct CoordinationOptions {
  std::chrono::milliseconds timeout;               ///< longest wait of a replica for the others
  CommunicationOptions communication{};            ///< how replicas exchange data
  bool sequential = false;                         ///< see ReplicaGroup
  std::vector<LogicalDevice> parameter_devices{};  ///< devices of the variables' copies; empty: the replicas' devices
};

/// A strategy with a host thread for each replica. Derived classes define the kind of its variables.
class ThreadedStrategy : public StrategyState, public std::enable_shared_from_this<ThreadedStrategy> {
 public:
  /// Throws InvalidArgument for an empty list of devices, a device listed twice and a timeout that is not positive.
  /// Throws Unsupported for a device that this build cannot use. Also throws whatever connect throws.
  ThreadedStrategy(std::vector<LogicalDevice> devices, const CoordinationOptions& options);
  ~ThreadedStrategy() override;

  /// The devices, one for each replica, in replica order.
  const std::vector<LogicalDevice>& devices() const final { return devices_; }
  void run_on_replicas(const std::function<void(int)>& job) final;
  bool has_stepped() const final { return has_stepped_; }
  Cluster* cluster() const final { return options_.communication.cluster.get(); }
  Coordination& coordination() final;

 protected:
  /// The constructor's options; clones are made with them.
  const CoordinationOptions& coordination_options() const { return options_; }

 private:
  class ReplicaThreads;
  ReplicaThreads& threads_for_run();

  std::vector<LogicalDevice> devices_;
  CoordinationOptions options_;
  std::atomic<bool> has_stepped_ = false;
  std::unique_ptr<ReplicaThreads> replica_threads_;
};

}  // namespace lockstep
