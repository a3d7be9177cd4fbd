#pragma once

#include <memory>

namespace lockstep {

class StrategyState;

/// The strategy of code outside every scope: one replica, on the calling thread, with plain variables. Each thread has
/// its own default strategy.
std::shared_ptr<StrategyState> default_strategy();

}  // namespace lockstep
