#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace lockstep {

/// One value for each replica, in replica order; they may differ in shape.
template <class T>
class PerReplica {
 public:
  PerReplica() = default;
  explicit PerReplica(std::vector<T> values) : values_(std::move(values)) {}

  int size() const { return static_cast<int>(values_.size()); }
  const T& operator[](int replica) const { return values_.at(static_cast<std::size_t>(replica)); }
  /// All values, in replica order, whatever their number.
  const std::vector<T>& local_results() const& { return values_; }
  std::vector<T> local_results() && { return std::move(values_); }  // safe to loop over: run(...).local_results()

 private:
  std::vector<T> values_;
};

// How `Strategy::run` hands an argument to a replica: a PerReplica's own value, anything else whole.

template <class T>
const T& value_for_replica(const T& value, int) {
  return value;
}
template <class T>
const T& value_for_replica(const PerReplica<T>& value, int replica) {
  return value[replica];
}

/// How many replicas an argument was made for; 0 when it suits any number.
template <class T>
int replicas_of(const T&) {
  return 0;
}
template <class T>
int replicas_of(const PerReplica<T>& value) {
  return value.size();
}

class ReplicaGroup;

/// Called by `Strategy::run` with each argument after a step that all replicas ended. Most have no use for it.
template <class T>
void after_step(const T&, const ReplicaGroup&) {}

}  // namespace lockstep
