#pragma once

#include <memory>

namespace lockstep {

class StrategyState;
struct OpenScopes;

/// While it lives, variables made on this thread belong to the strategy. Scopes of one strategy nest, and may end in
/// any order, and on another thread: the last one to end closes it. Throws LogicError inside a replica or inside the
/// scope of another strategy.
class [[nodiscard]] Scope {
 public:
  /// Opens it; Strategy::scope does.
  explicit Scope(std::shared_ptr<StrategyState> strategy);
  ~Scope();
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

 private:
  std::shared_ptr<OpenScopes> open_scopes_;  // of the thread that opened it
};

}  // namespace lockstep
