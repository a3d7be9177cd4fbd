#pragma once

#include <optional>
#include <string>

#include <lockstep/models/optimizers/optimizer.h>
#include <lockstep/models/training/callback.h>

namespace lockstep::cli {

/// How a model's weights are updated.
struct UpdateOptions {
  std::optional<std::string> optimizer{};  ///< default: sgd, or a saved model's own
  std::optional<double> learning_rate{};   ///< default: the optimizer's, as in Keras
  std::optional<double> momentum{};
  std::optional<double> weight_decay{};
  std::optional<double> clip_norm{};  ///< of all gradients together; 0: none
  std::string schedule = "constant";

  /// Throws InvalidArgument for values that the optimizer does not take.
  Optimizer make_optimizer() const;
  /// A saved model's optimizer in its state, with what is given changed and all else as saved; a new one where an
  /// optimizer is given. Throws as make_optimizer, and where the state does not fit the change.
  Optimizer changed(const Optimizer& saved) const;
  /// What sets the learning rate of each epoch, also of those of a run that is resumed; nullptr where none is given.
  std::shared_ptr<Callback> make_schedule(double initial_rate, int epochs) const;
};

}  // namespace lockstep::cli
