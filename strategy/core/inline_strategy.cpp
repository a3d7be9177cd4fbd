#include "lockstep/strategy/core/inline_strategy.h"

#include <lockstep/runtime/memory/device_memory.h>

namespace lockstep {

InlineStrategy::InlineStrategy(const LogicalDevice& device)
    : devices_{device}, coordination_{.group{1, std::chrono::hours(1)}} {  // one replica never waits
  memory_resource(device);
  coordination_.connections = connect(coordination_.group, devices_);
}

}  // namespace lockstep
