#pragma once

#include <memory>

namespace lockstep {

class StrategyState;

/// What code outside every scope runs under: one replica, on the calling thread, with plain variables.
std::shared_ptr<StrategyState> default_strategy();

}  // namespace lockstep
