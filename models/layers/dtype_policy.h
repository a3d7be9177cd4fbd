#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include <lockstep/runtime/core/dtype.h>

namespace lockstep {

/// Keras' dtype policy of a layer: the dtype of its computation. Variables, their gradients, statistics, losses and
/// metrics are f32 under every policy.
enum class DTypePolicy : std::uint8_t {
  float32,         ///< f32
  mixed_bfloat16,  ///< bf16, which has f32's range and 8 bits of precision
};

/// Keras' name, e.g. "mixed_bfloat16".
std::string_view name(DTypePolicy policy);
/// The policy with this name. Throws InvalidArgument, listing the known names, for any other name.
DTypePolicy parse_dtype_policy(std::string_view name);
/// The dtype of a layer's results under this policy.
constexpr DType compute_dtype(DTypePolicy policy) {
  return policy == DTypePolicy::mixed_bfloat16 ? DType::bf16 : DType::f32;
}

/// While this object exists, layers that the calling thread creates get this policy, as after Keras'
/// `set_global_policy`. If several scopes are open, the innermost one applies. Scopes may end in any order; each scope
/// removes only its own policy. A scope may end on another thread, provided that the thread that opened it does not
/// open a scope or create a layer at the same time.
class [[nodiscard]] DTypePolicyScope {
 public:
  /// Opens a scope of this policy.
  explicit DTypePolicyScope(DTypePolicy policy);
  /// Opens a scope of the policy with this name. Throws the same errors as parse_dtype_policy.
  explicit DTypePolicyScope(std::string_view name) : DTypePolicyScope(parse_dtype_policy(name)) {}
  ~DTypePolicyScope();
  DTypePolicyScope(const DTypePolicyScope&) = delete;
  DTypePolicyScope& operator=(const DTypePolicyScope&) = delete;

  /// The policy of this scope.
  DTypePolicy policy() const { return policy_; }

 private:
  DTypePolicy policy_;
  std::shared_ptr<std::vector<const DTypePolicyScope*>>
      open_scopes_;  // all open scopes of the thread that made this one
};

/// The policy of new layers of the calling thread; float32 outside all scopes.
DTypePolicy current_dtype_policy();

/// Calls `build()` in a DTypePolicyScope and returns its result. Corresponds to Keras' layer argument `dtype`.
template <class Build>
decltype(auto) with_dtype_policy(DTypePolicy policy, Build&& build) {
  const DTypePolicyScope scope(policy);
  return std::forward<Build>(build)();
}
/// Calls `build()` in a DTypePolicyScope of the policy with this name. Throws the same errors as parse_dtype_policy.
template <class Build>
decltype(auto) with_dtype_policy(std::string_view name, Build&& build) {
  const DTypePolicyScope scope(name);
  return std::forward<Build>(build)();
}

}  // namespace lockstep
