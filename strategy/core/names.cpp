#include "lockstep/strategy/core/names.h"

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include <lockstep/runtime/core/error.h>

namespace lockstep {
namespace {

using Scopes = std::vector<const NameScope*>;

/// This thread's open scopes, innermost last; null until the thread opens its first scope.
thread_local std::shared_ptr<Scopes> open_name_scopes;

/// A name without the number at its end: "foo" for "foo_12". Returns "foo" and "foo_a" unchanged.
std::string_view without_suffix(std::string_view part) {
  const std::size_t last = part.find_last_not_of("0123456789");
  const bool has_suffix = last != std::string_view::npos && part[last] == '_' && last + 1 < part.size();
  return has_suffix ? part.substr(0, last) : part;
}

}  // namespace

NameScope::NameScope(std::string name) : name_(std::move(name)) {
  require(!name_.empty(), "a name scope needs a name");
  if (!open_name_scopes) open_name_scopes = std::make_shared<Scopes>();
  open_name_scopes->push_back(this);
  open_scopes_ = open_name_scopes;
}

NameScope::~NameScope() { std::erase(*open_scopes_, this); }

std::string current_name_scope() {
  std::string joined;
  if (!open_name_scopes) return joined;
  for (const NameScope* scope : *open_name_scopes) joined += (joined.empty() ? "" : "/") + scope->name();
  return joined;
}

std::string scoped_name(const std::string& name) {
  return !open_name_scopes || open_name_scopes->empty() ? name : current_name_scope() + "/" + name;
}

std::string canonical_name(const std::string& name) {
  if (name.empty()) return "Variable";
  std::string result;
  for (std::size_t begin = 0;;) {
    const std::size_t end = std::min(name.find('/', begin), name.size());
    result += without_suffix(std::string_view(name).substr(begin, end - begin));
    if (end == name.size()) return result;
    result += '/';
    begin = end + 1;
  }
}

}  // namespace lockstep
