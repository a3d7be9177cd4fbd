#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <utility>
#include <vector>

#include <lockstep/models/training/model.h>
#include <lockstep/strategy/comm/cluster/cluster.h>

namespace lockstep {

/// The callbacks of one call of fit, evaluate or predict.
class CallbackList {
 public:
  /// Throws InvalidArgument, naming `caller`, for a callback that is null. `caller` must outlive this object.
  CallbackList(Model model, std::vector<std::shared_ptr<Callback>> callbacks, const char* caller)
      : model_(std::move(model)),
        callbacks_(std::move(callbacks)),
        caller_(caller),
        workers_(model_.strategy().state()->cluster()) {
    for (const auto& callback : callbacks_)
      require(callback != nullptr, "{} was given a callback that is null", caller);
  }

  /// Calls `event` of all callbacks in their order; on workers other than the chief, only of those that are not
  /// chief_only(). Notifies the other workers of an exception that they do not throw together with this one.
  template <class... Parameters, class... Args>
  void notify(void (Callback::*event)(Model&, Parameters...), Args&&... args) {
    for (const auto& callback : callbacks_) {
      if (workers_ && !workers_->is_chief() && callback->chief_only()) continue;
      const std::uint64_t failures_together = workers_ ? workers_->failures_together() : 0;
      try {
        ((*callback).*event)(model_, args...);
      } catch (...) {
        if (workers_ && workers_->failures_together() == failures_together)
          workers_->fail_all(fmt::format("a callback of {}: {}", caller_, message_of(std::current_exception())));
        throw;
      }
    }
  }

  /// The callbacks in their order.
  const std::vector<std::shared_ptr<Callback>>& all() const { return callbacks_; }

 private:
  Model model_;
  std::vector<std::shared_ptr<Callback>> callbacks_;
  const char* caller_;
  Cluster* workers_;  ///< null if there is only one worker
};

}  // namespace lockstep
