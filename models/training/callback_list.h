#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <lockstep/models/training/model.h>
#include <lockstep/strategy/comm/cluster/cluster.h>

namespace lockstep {

/// The callbacks of one call of fit, evaluate or predict.
class CallbackList {
 public:
  /// Throws InvalidArgument, naming `caller`, for a callback that is null.
  CallbackList(Model model, std::vector<std::shared_ptr<Callback>> callbacks, const char* caller)
      : model_(std::move(model)),
        callbacks_(std::move(callbacks)),
        prefix_(fmt::format("a callback of {}: ", caller)),
        workers_(model_.strategy().state()->cluster()) {
    for (const auto& callback : callbacks_)
      require(callback != nullptr, "{} was given a callback that is null", caller);
  }

  /// Calls `event` of all callbacks in their order. Workers other than the chief skip callbacks that are chief_only().
  /// Notifies the other workers of an exception, unless a collective has thrown it on all workers.
  template <class... Parameters, class... Args>
  void notify(void (Callback::*event)(Model&, Parameters...), Args&&... args) {
    for (const auto& callback : callbacks_) {
      if (workers_ && !workers_->is_chief() && callback->chief_only()) continue;
      notify_on_failure(
          workers_, [&] { ((*callback).*event)(model_, args...); }, prefix_);
    }
  }

  /// The callbacks in their order.
  const std::vector<std::shared_ptr<Callback>>& all() const { return callbacks_; }

 private:
  Model model_;
  std::vector<std::shared_ptr<Callback>> callbacks_;
  std::string prefix_;  ///< before the message of a callback's error
  Cluster* workers_;    ///< null if there is only one worker
};

}  // namespace lockstep
