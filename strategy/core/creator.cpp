#include "lockstep/strategy/core/creator.h"

#include <utility>

namespace lockstep {

std::shared_ptr<const VariableCreators>& thread_creators() {
  thread_local std::shared_ptr<const VariableCreators> creators;
  return creators;
}

VariableCreatorScope::VariableCreatorScope(VariableCreator creator) : outer_(thread_creators()) {
  require(creator != nullptr, "VariableCreatorScope was given a creator that is null");
  thread_creators() = std::make_shared<const VariableCreators>(VariableCreators{std::move(creator), outer_});
}

VariableCreatorScope::~VariableCreatorScope() { thread_creators() = std::move(outer_); }

}  // namespace lockstep
