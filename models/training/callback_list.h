#pragma once

#include <memory>
#include <utility>
#include <vector>

#include <lockstep/models/training/model.h>

namespace lockstep {

/// The callbacks of one call of fit, evaluate or predict.
class CallbackList {
 public:
  /// Throws InvalidArgument, naming `caller`, for a callback that is null.
  CallbackList(Model model, std::vector<std::shared_ptr<Callback>> callbacks, const char* caller)
      : model_(std::move(model)), callbacks_(std::move(callbacks)), is_chief_(model_.strategy().is_chief()) {
    for (const auto& callback : callbacks_)
      require(callback != nullptr, "{} was given a callback that is null", caller);
  }

  /// Calls `event` of all callbacks in their order; on workers other than the chief, only of those that are not
  /// chief_only().
  template <class... Parameters, class... Args>
  void notify(void (Callback::*event)(Model&, Parameters...), Args&&... args) {
    for (const auto& callback : callbacks_)
      if (is_chief_ || !callback->chief_only()) ((*callback).*event)(model_, args...);
  }

  /// The callbacks in their order.
  const std::vector<std::shared_ptr<Callback>>& all() const { return callbacks_; }

 private:
  Model model_;
  std::vector<std::shared_ptr<Callback>> callbacks_;
  bool is_chief_;
};

}  // namespace lockstep
