#pragma once

#include <mutex>
#include <vector>

#include <lockstep/strategy/core/strategy.h>

namespace lockstep {

/// Base of strategies with one replica: steps run on the calling thread, variables have a single copy.
class InlineStrategy : public StrategyState {
 public:
  /// Throws Unsupported for a device that this build cannot use.
  explicit InlineStrategy(const LogicalDevice& device);

  /// The device of the replica.
  const std::vector<LogicalDevice>& devices() const final { return devices_; }
  bool has_stepped() const final { return false; }  // a single replica can make variables after the first step, too
  /// A group of one replica, which never waits.
  Coordination& coordination() final { return coordination_; }

 private:
  std::vector<LogicalDevice> devices_;
  Coordination coordination_;
};

}  // namespace lockstep
