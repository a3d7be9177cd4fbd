#pragma once

#include <cstddef>
#include <map>
#include <utility>

namespace lockstep {

/// What one thread knows of how to compute with NVIDIA's libraries, by physical GPU and description: a plan, or that
/// there is none. It is found out at first use.
template <class Description, class Plan>
class KnownPlans {
 public:
  /// Forgets all of them when there are `limit`: far more than the layers of a model, so that only a program whose
  /// shapes never repeat reaches it, and does not grow without end.
  explicit KnownPlans(std::size_t limit) : limit_(limit) {}

  /// That of a description on the GPU of CUDA's number `ordinal`, if need be what `make()` returns; what that throws is
  /// thrown, and asked for again by the next call. There until the next call.
  template <class Make>
  Plan& get(int ordinal, const Description& description, const Make& make) {
    const std::pair key(ordinal, description);
    if (const auto found = plans_.find(key); found != plans_.end()) return found->second;
    Plan plan = make();
    if (plans_.size() >= limit_) plans_.clear();
    return plans_.emplace(key, std::move(plan)).first->second;
  }

 private:
  std::size_t limit_;
  std::map<std::pair<int, Description>, Plan> plans_;
};

}  // namespace lockstep
