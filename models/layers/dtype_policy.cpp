#include "lockstep/models/layers/dtype_policy.h"

#include <array>

#include <fmt/ranges.h>

#include <lockstep/runtime/core/error.h>

namespace lockstep {
namespace {

/// Indexed by DTypePolicy.
constexpr std::array<std::string_view, 2> names{"float32", "mixed_bfloat16"};

using Scopes = std::vector<const DTypePolicyScope*>;

/// The calling thread's scopes, innermost last; null before its first scope.
thread_local std::shared_ptr<Scopes> open_scopes;

}  // namespace

std::string_view name(DTypePolicy policy) { return names.at(static_cast<std::size_t>(policy)); }

DTypePolicy parse_dtype_policy(std::string_view text) {
  for (std::size_t i = 0; i < names.size(); ++i)
    if (names[i] == text) return static_cast<DTypePolicy>(i);
  fail<InvalidArgument>("'{}' is no dtype policy; choose {}", text, fmt::join(names, " or "));
}

DTypePolicyScope::DTypePolicyScope(DTypePolicy policy) : policy_(policy) {
  if (!open_scopes) open_scopes = std::make_shared<Scopes>();
  open_scopes->push_back(this);
  open_scopes_ = open_scopes;
}

DTypePolicyScope::~DTypePolicyScope() { std::erase(*open_scopes_, this); }

DTypePolicy current_dtype_policy() {
  return !open_scopes || open_scopes->empty() ? DTypePolicy::float32 : open_scopes->back()->policy();
}

}  // namespace lockstep
