#pragma once

#include <atomic>
#include <exception>
#include <memory>
#include <mutex>
#include <vector>

#include <lockstep/strategy/core/strategy.h>

namespace lockstep {

/// A strategy with a host thread for each replica. Kinds of it differ in the variables that they make.
class ThreadedStrategy : public StrategyState, public std::enable_shared_from_this<ThreadedStrategy> {
 public:
  /// Throws InvalidArgument for no device, for one listed twice, for one that this build cannot use, and for a timeout
  /// that is not positive; what make_collective throws.
  ThreadedStrategy(std::vector<LogicalDevice> devices, std::chrono::milliseconds timeout,
                   const CollectiveOptions& collective = {});
  ~ThreadedStrategy() override;

  const std::vector<LogicalDevice>& devices() const final { return devices_; }
  void run_on_replicas(const std::function<void(int)>& job) final;
  bool has_stepped() const final { return has_stepped_; }
  Meetings& meetings() final;

 private:
  class Crew;
  Crew& crew_for_run();

  std::vector<LogicalDevice> devices_;
  std::chrono::milliseconds timeout_;
  CollectiveOptions collective_;
  std::atomic<bool> has_stepped_ = false;
  std::unique_ptr<Crew> crew_;
};

}  // namespace lockstep
