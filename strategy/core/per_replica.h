#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>
#include <vector>

#include <lockstep/runtime/core/error.h>

namespace lockstep {

/// One value for each replica of this process, in the order of ReplicaContext::local_replica(). The values may differ
/// in shape. T must not be bool, because operator[] cannot return a reference to an element of a std::vector<bool>; use
/// int.
template <class T>
class PerReplica {
 public:
  PerReplica() = default;
  /// `values` has one value for each replica of this process, in replica order.
  explicit PerReplica(std::vector<T> values) : values_(std::move(values)) {}

  /// Number of values. A result of Strategy::run has Strategy::num_local_replicas() values.
  int size() const { return static_cast<int>(values_.size()); }
  /// The value of the replica with this index in this process. Throws InvalidArgument unless 0 <= replica < size().
  const T& operator[](int replica) const {
    require(replica >= 0 && replica < size(), "there is no value for replica {}: there are {} replicas", replica,
            size());
    return values_[static_cast<std::size_t>(replica)];
  }
  ///@{
  /// All values, in replica order.
  const std::vector<T>& local_results() const& { return values_; }
  std::vector<T> local_results() && { return std::move(values_); }  // safe to loop over: run(...).local_results()
  ///@}

  /// Returns part(value) for each replica, e.g. one member of a struct that the step returned.
  template <class Part>
  auto transform(Part&& part) const {
    std::vector<std::decay_t<decltype(part(values_.front()))>> parts;
    for (const T& value : values_) parts.push_back(part(value));
    return PerReplica<typename decltype(parts)::value_type>(std::move(parts));
  }

 private:
  std::vector<T> values_;
};

}  // namespace lockstep
