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
  std::optional<double> momentum{};        ///< default: 0, or a saved model's own
  std::optional<double> weight_decay{};    ///< default: the optimizer's, as in Keras, or a saved model's own
  std::optional<double> clip_norm{};       ///< largest global norm; 0: no clipping; default: 0, or a saved model's own
  std::string schedule = "constant";

  /// Throws InvalidArgument for values that the optimizer does not accept.
  Optimizer make_optimizer() const;
  /// A new optimizer if `optimizer` is given; otherwise the saved model's optimizer with its state, changed by the
  /// options that are given. Throws InvalidArgument for values that the optimizer does not accept, and if the state
  /// does not fit the new momentum.
  Optimizer changed(const Optimizer& saved) const;
  /// A callback that sets the learning rate at the start of every epoch, and when a run resumes within an epoch;
  /// nullptr if neither schedule nor rate is given.
  std::shared_ptr<Callback> make_schedule(double initial_rate, int epochs) const;
};

}  // namespace lockstep::cli
