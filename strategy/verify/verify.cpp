#include <cstring>

#include <lockstep/strategy/verify/verify.h>

namespace lockstep {
namespace {

void compare(const Variable& variable, int replica, std::span<const float> first, std::span<const float> other) {
  if (std::memcmp(first.data(), other.data(), first.size_bytes()) == 0) return;
  std::size_t i = 0;
  while (std::memcmp(&first[i], &other[i], sizeof(float)) == 0) ++i;
  fail<BrokenInvariant>("the copies of '{}' differ: element {} is {} on replica 0 and {} on replica {}",
                        variable.name(), i, first[i], other[i], replica);
}

}  // namespace

void verify_mirrored(std::span<const Variable> variables) {
  for (const Variable& variable : variables) {
    if (variable.synchronization() == Synchronization::on_read) continue;
    const auto& copies = variable.state().copies();
    for (int replica = 1; replica < static_cast<int>(copies.size()); ++replica)
      compare(variable, replica, copies.front().span<float>(), copies[replica].span<float>());
  }
}

}  // namespace lockstep
