#pragma once

#include <memory>

namespace lockstep {

class StrategyState;
struct OpenScopes;

/// Until the scope ends, variables created on this thread belong to the strategy. Scopes of one strategy nest and may
/// end in any order, also on another thread if the program synchronizes the two threads. When the last scope ends, the
/// opening thread returns to its previous strategy. The constructor throws LogicError inside a replica, and if another
/// strategy has an open scope on this thread or was set by set_strategy.
class [[nodiscard]] Scope {
 public:
  /// Opens the scope. Use Strategy::scope.
  explicit Scope(std::shared_ptr<StrategyState> strategy);
  ~Scope();
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

 private:
  std::shared_ptr<OpenScopes> open_scopes_;  // scopes of the thread that opened this one
};

}  // namespace lockstep
