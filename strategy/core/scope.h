#pragma once

#include <memory>

namespace lockstep {

class StrategyState;
struct OpenScopes;

/// Until the scope ends, variables made on this thread belong to the strategy. Scopes of one strategy nest, and may end
/// in any order and on another thread: the thread that opened them leaves the strategy when the last one ends. Throws
/// LogicError inside a replica or inside the scope of another strategy.
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
