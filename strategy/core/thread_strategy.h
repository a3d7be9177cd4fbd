#pragma once

#include <memory>

namespace lockstep {

class StrategyState;

/// The strategy whose scope or replica the calling thread is in; null outside every strategy.
std::shared_ptr<StrategyState>& thread_strategy();

}  // namespace lockstep
