#include <algorithm>
#include <cstring>
#include <string>

#include <lockstep/strategy/verify/verify.h>

namespace lockstep {
namespace {

void compare(const Variable& variable, int replica, const Tensor& of_first, const Tensor& of_other) {
  const std::span<const float> first = of_first.span<float>();
  const std::span<const float> other = of_other.span<float>();
  if (std::memcmp(first.data(), other.data(), first.size_bytes()) == 0) return;
  std::size_t i = 0;
  while (std::memcmp(&first[i], &other[i], sizeof(float)) == 0) ++i;
  fail<BrokenInvariant>("the copies of '{}' differ: element {} is {} on replica 0 and {} on replica {}",
                        variable.name(), i, first[i], other[i], replica);
}

/// "'dense/kernel' (8, 16)".
std::string text_at(const std::vector<Variable>& variables, std::size_t position) {
  if (position >= variables.size()) return fmt::format("nothing after {} variable(s)", variables.size());
  return fmt::format("'{}' {}", variables[position].name(), variables[position].shape());
}

}  // namespace

void verify_same_order(std::span<const std::vector<Variable>* const> by_replica) {
  const std::vector<Variable>& first = *by_replica.front();
  for (std::size_t replica = 1; replica < by_replica.size(); ++replica) {
    const std::vector<Variable>& other = *by_replica[replica];
    const auto [in_first, in_other] = std::mismatch(first.begin(), first.end(), other.begin(), other.end());
    if (in_first == first.end() && in_other == other.end()) continue;
    const auto position = static_cast<std::size_t>(in_first - first.begin());
    fail("the replicas' gradients are in different orders: at position {} replica 0 has {}, replica {} has {}",
         position, text_at(first, position), replica, text_at(other, position));
  }
}

void verify_mirrored(std::span<const Variable> variables) {
  for (const Variable& variable : variables) {
    if (variable.synchronization() == Synchronization::on_read) continue;
    const auto& copies = variable.state().copies();
    const Tensor first = copies.front().on_host();
    for (int replica = 1; replica < static_cast<int>(copies.size()); ++replica)
      compare(variable, replica, first, copies[replica].on_host());
  }
}

}  // namespace lockstep
