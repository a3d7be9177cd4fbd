#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include <lockstep/runtime/core/dtype.h>

namespace lockstep {

/// Keras' dtype policy of a layer: the dtype of its computation. Variables, gradients, statistics, losses and metrics
/// are f32 under each.
enum class DTypePolicy : std::uint8_t {
  float32,         ///< f32
  mixed_bfloat16,  ///< bf16, which has f32's range and 8 bits of precision
};

/// Keras' name, e.g. "mixed_bfloat16".
std::string_view name(DTypePolicy policy);
/// By that name. Throws InvalidArgument, listing the known names, for another one.
DTypePolicy parse_dtype_policy(std::string_view name);
/// Of the results of a layer of this policy.
constexpr DType compute_dtype(DTypePolicy policy) {
  return policy == DTypePolicy::mixed_bfloat16 ? DType::bf16 : DType::f32;
}

/// Keras' `set_global_policy` for the calling thread, while it lives: new layers have this policy. The
/// innermost one decides. Scopes may end in any order, and on another thread; each removes its own policy.
class [[nodiscard]] DTypePolicyScope {
 public:
  /// Opens it.
  explicit DTypePolicyScope(DTypePolicy policy);
  /// By name. Throws as parse_dtype_policy.
  explicit DTypePolicyScope(std::string_view name) : DTypePolicyScope(parse_dtype_policy(name)) {}
  ~DTypePolicyScope();
  DTypePolicyScope(const DTypePolicyScope&) = delete;
  DTypePolicyScope& operator=(const DTypePolicyScope&) = delete;

  /// As given.
  DTypePolicy policy() const { return policy_; }

 private:
  DTypePolicy policy_;
  std::shared_ptr<std::vector<const DTypePolicyScope*>>
      open_scopes_;  // of the thread that made it, this one among them
};

/// The policy of layers that the calling thread makes; float32 outside of all scopes.
DTypePolicy current_dtype_policy();

/// The result of `build()`, called in a DTypePolicyScope: Keras' `dtype=` of layers.
template <class Build>
decltype(auto) with_dtype_policy(DTypePolicy policy, Build&& build) {
  const DTypePolicyScope scope(policy);
  return std::forward<Build>(build)();
}
/// The same with the policy's name. Throws as parse_dtype_policy.
template <class Build>
decltype(auto) with_dtype_policy(std::string_view name, Build&& build) {
  const DTypePolicyScope scope(name);
  return std::forward<Build>(build)();
}

}  // namespace lockstep
