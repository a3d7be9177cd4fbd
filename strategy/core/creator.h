#pragma once

#include <functional>
#include <memory>

#include <lockstep/strategy/core/variable.h>

namespace lockstep {

/// Makes a variable.
using VariableMaker = std::function<Variable(VariableSpec)>;
/// Makes a variable by calling `next` with `spec` or another spec, or returns an existing variable. If it returns an
/// undefined Variable, the constructor of Variable throws InvalidArgument.
using VariableCreator = std::function<Variable(const VariableMaker& next, VariableSpec spec)>;

/// The variable creators of a thread that has at least one.
struct VariableCreators {
  VariableCreator creator;                        ///< creator of the innermost scope
  std::shared_ptr<const VariableCreators> outer;  ///< creators of the enclosing scopes; null if there are none
};

/// TensorFlow's variable_creator_scope: until the scope ends, `creator` makes all new variables of this thread and of
/// the steps that this thread runs. In a step, each replica calls `creator` on its own thread. The creator of the
/// innermost scope is called first; its `next` is the creator of the enclosing scope and, in the outermost scope, the
/// strategy. A creator may construct a Variable instead of calling `next`, with the same effect.
class [[nodiscard]] VariableCreatorScope {
 public:
  /// Throws InvalidArgument for an empty creator.
  explicit VariableCreatorScope(VariableCreator creator);
  ~VariableCreatorScope();
  VariableCreatorScope(const VariableCreatorScope&) = delete;
  VariableCreatorScope& operator=(const VariableCreatorScope&) = delete;

 private:
  std::shared_ptr<const VariableCreators> outer_;
};

/// The calling thread's creators; null if there are none.
std::shared_ptr<const VariableCreators>& thread_creators();

}  // namespace lockstep
