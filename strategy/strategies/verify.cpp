#include "lockstep/strategy/strategies/verify.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

#include <lockstep/strategy/comm/cluster/cluster.h>

namespace lockstep {
namespace {

/// Describes the first element that differs between two replicas' copies; empty if they are equal.
std::string difference(const Variable& variable, int replica, const Tensor& of_first, const Tensor& of_other) {
  return visit_dtype(of_first.dtype(), [&]<class T>() -> std::string {
    const std::span<const T> first = of_first.span<T>();
    const std::span<const T> other = of_other.span<T>();
    if (std::memcmp(first.data(), other.data(), first.size_bytes()) == 0) return "";
    std::size_t i = 0;
    while (std::memcmp(&first[i], &other[i], sizeof(T)) == 0) ++i;
    using Number = std::conditional_t<std::is_same_v<T, bfloat16>, float, T>;
    return fmt::format("the copies of '{}' differ: element {} is {} on replica 0 and {} on replica {}", variable.name(),
                       i, static_cast<Number>(first[i]), static_cast<Number>(other[i]), replica);
  });
}

/// The variable at `position` as a text such as "'dense/kernel' (8, 16)".
std::string text_at(const std::vector<Variable>& variables, std::size_t position) {
  if (position >= variables.size()) return fmt::format("nothing after {} variable(s)", variables.size());
  return fmt::format("'{}' {}", variables[position].name(), variables[position].shape());
}

std::uint64_t hash_of(const Tensor& values) {
  const auto* const bytes = static_cast<const char*>(values.raw_data());
  return std::hash<std::string_view>()({bytes, static_cast<std::size_t>(values.elements()) * size_of(values.dtype())});
}

constexpr std::string_view place = "the comparison of variables";

void compare_workers(Cluster& workers, std::span<const Variable> variables, const std::vector<std::uint64_t>& own) {
  const std::string_view text(reinterpret_cast<const char*>(own.data()), own.size() * sizeof(own.front()));
  const std::vector<std::string> all = workers.all_gather(place, text);
  for (int worker = 1; worker < workers.size(); ++worker) {
    const std::string& other = all[static_cast<std::size_t>(worker)];
    if (other == all.front()) continue;
    const auto at = std::ranges::mismatch(other, all.front()).in1 - other.begin();
    const auto variable = static_cast<std::size_t>(at) / sizeof(own.front());
    throw_together<BrokenInvariant>("the copies of '{}' differ between {} and {}",
                                    variable < variables.size() ? variables[variable].name() : "?", workers.name_of(0),
                                    workers.name_of(worker));
  }
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

void verify_mirrored(std::span<const Variable> variables, Cluster* workers) {
  std::vector<std::uint64_t> hashes;
  std::string differing;            // the first difference in this process
  notify_on_failure(workers, [&] {  // reading a copy may fail on this worker alone
    for (const Variable& variable : variables) {
      if (workers) hashes.push_back(0);
      if (variable.synchronization() == Synchronization::on_read) continue;
      const auto& copies = variable.state().copies();
      const Tensor first = copies.front().on_host();
      for (int replica = 1; differing.empty() && replica < static_cast<int>(copies.size()); ++replica)
        differing = difference(variable, replica, first, copies[replica].on_host());
      if (workers) hashes.back() = hash_of(first);
    }
  });
  if (workers && !variables.empty()) {
    workers->fail_together<BrokenInvariant>(place, differing);
    compare_workers(*workers, variables, hashes);
  }
  require<BrokenInvariant>(differing.empty(), "{}", differing);
}

}  // namespace lockstep
