#pragma once

#include <cstddef>
#include <map>
#include <utility>

namespace lockstep {

/// One thread's plans for computations of NVIDIA's libraries, keyed by physical GPU and description. Plans are made at
/// first use. A Plan may also record that the library has no algorithm.
template <class Description, class Plan>
class KnownPlans {
 public:
  /// When `limit` plans are stored, adding another first discards all of them. This bounds the memory of programs whose
  /// shapes never repeat. Choose a limit far above the number of layers of a model, so that programs whose shapes
  /// repeat never reach it.
  explicit KnownPlans(std::size_t limit) : limit_(limit) {}

  /// The plan for a description on the GPU with CUDA ordinal `ordinal`; the first use calls `make()`. If make() throws,
  /// no plan is stored for the description, and the next call tries again. The reference is valid until the next call.
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
