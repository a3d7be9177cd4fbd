#pragma once

#include <functional>
#include <memory>

#include <lockstep/strategy/core/variable.h>

namespace lockstep {

/// Makes a variable.
using VariableMaker = std::function<Variable(VariableSpec)>;
/// Makes a variable with `next`, from this or another spec, or returns an existing one.
using VariableCreator = std::function<Variable(const VariableMaker& next, VariableSpec spec)>;

/// The creators of a thread's variables, innermost first; null: the strategy makes them.
struct VariableCreators {
  VariableCreator creator;                        ///< of the innermost scope
  std::shared_ptr<const VariableCreators> outer;  ///< of the scopes around it
};

/// TensorFlow's variable_creator_scope: while it lives, `creator` makes the variables of this thread and of replicas
/// that it runs, on the thread of each. The innermost scope's creator comes first, and its `next` is the one around it,
/// at last the strategy. Variables that a creator itself constructs are made by `next`.
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

/// The calling thread's.
std::shared_ptr<const VariableCreators>& thread_creators();

}  // namespace lockstep
