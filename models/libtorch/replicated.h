#pragma once

#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include <lockstep/strategy/core/strategy.h>

namespace lockstep::libtorch {

/// The index of the calling thread's replica of `strategy`; outside replicas, 0 if this process has only one replica.
/// In a replica, lets libtorch's ops use the replica's share of the cores. Throws LogicError in a replica of another
/// strategy, and outside replicas if this process has several.
int replica_here(const Strategy& strategy);

/// An object for each replica of this process, such as a libtorch optimizer or learning rate scheduler. A handle:
/// copies refer to the same objects.
template <class T>
class Replicated {
 public:
  /// `replicas` has one object for each replica of this process, in replica order.
  Replicated(Strategy strategy, std::vector<std::shared_ptr<T>> replicas)
      : strategy_(std::move(strategy)), replicas_(std::move(replicas)) {}

  /// The object of the calling thread's replica. Throws the same errors as replica_here. Outside replicas use
  /// for_each() or first().
  const std::shared_ptr<T>& here() const { return replicas_[static_cast<std::size_t>(replica_here(strategy_))]; }
  /// Same as here().
  T* operator->() const { return here().get(); }
  /// Same as here().
  T& operator*() const { return *here(); }
  /// Calls visit(object) for each replica of this process. Call it outside replicas, e.g. to switch a module to eval()
  /// or to step a scheduler.
  template <class Visit>
  void for_each(const Visit& visit) const {
    for (const std::shared_ptr<T>& replica : replicas_) visit(*replica);
  }
  /// The object of this process's first replica, to read from outside replicas.
  const std::shared_ptr<T>& first() const { return replicas_.front(); }
  /// The objects of all replicas of this process.
  const std::vector<std::shared_ptr<T>>& replicas() const { return replicas_; }
  /// The strategy of the replicas.
  const Strategy& strategy() const { return strategy_; }

 private:
  Strategy strategy_;
  std::vector<std::shared_ptr<T>> replicas_;
};

/// Makes an object for each replica by make(part), where `part` is the replica's object in `of`. If the new object
/// keeps a reference to `part`, the result must not outlive `of`.
///
///     auto scheduler = replicate(optimizer, [](auto& own) { return torch::optim::StepLR(own, 30, 0.1); });
template <class T, class Make>
auto replicate(const Replicated<T>& of, Make&& make) {
  using Made = std::decay_t<decltype(make(*of.replicas().front()))>;
  std::vector<std::shared_ptr<Made>> made;
  for (const std::shared_ptr<T>& part : of.replicas()) made.push_back(std::make_shared<Made>(make(*part)));
  return Replicated<Made>(of.strategy(), std::move(made));
}

}  // namespace lockstep::libtorch
