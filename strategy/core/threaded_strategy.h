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
  std::chrono::milliseconds timeout;     ///< longest wait of a replica for the others
  CommunicationOptions communication{};  ///< how replicas exchange data
  bool sequential = false;               ///< as ReplicaGroup's
};

/// A strategy with a host thread for each replica. Kinds of it differ in the variables that they make.
class ThreadedStrategy : public StrategyState, public std::enable_shared_from_this<ThreadedStrategy> {
 public:
  /// Throws InvalidArgument for no device, for one listed twice, for one that this build cannot use, and for a timeout
  /// that is not positive; what connect throws.
  ThreadedStrategy(std::vector<LogicalDevice> devices, const CoordinationOptions& options);
  ~ThreadedStrategy() override;

  /// One for each replica, in replica order.
  const std::vector<LogicalDevice>& devices() const final { return devices_; }
  void run_on_replicas(const std::function<void(int)>& job) final;
  bool has_stepped() const final { return has_stepped_; }
  Cluster* cluster() const final { return options_.communication.cluster.get(); }
  /// Of the innermost run that the calling thread takes part in.
  Coordination& coordination() final;

 protected:
  /// As given, for clones.
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
