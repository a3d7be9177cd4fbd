#pragma once

#include <mutex>
#include <vector>

#include <lockstep/strategy/core/strategy.h>

namespace lockstep {

/// What strategies of one replica share: steps run on the calling thread, variables are plain.
class InlineStrategy : public StrategyState {
 public:
  /// Throws for a device that this build cannot use.
  explicit InlineStrategy(const LogicalDevice& device);

  /// The one device.
  const std::vector<LogicalDevice>& devices() const final { return devices_; }
  bool has_stepped() const final { return false; }  // a replica's variables need no other replica
  /// Of a group of one, which waits for nobody.
  Coordination& coordination() final { return coordination_; }

 private:
  std::vector<LogicalDevice> devices_;
  Coordination coordination_;
};

}  // namespace lockstep
