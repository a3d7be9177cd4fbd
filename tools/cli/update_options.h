#pragma once

#include <optional>
#include <string>

#include <CLI/CLI.hpp>

#include <lockstep/models/optimizers/optimizer.h>
#include <lockstep/models/training/callback.h>

namespace lockstep::cli {

/// How a model's weights are updated.
struct UpdateOptions {
  std::string optimizer = "sgd";
  std::optional<double> learning_rate{};  ///< default: the optimizer's, as in Keras
  std::optional<double> momentum{};
  std::optional<double> weight_decay{};
  double clip_norm = 0;  ///< of all gradients together; 0: none
  std::string schedule = "constant";

  void add_to(CLI::App& command);
  /// Whether anything is given that an optimizer is made of.
  bool choose_optimizer() const;
  /// Throws InvalidArgument for values that the optimizer does not take.
  Optimizer make_optimizer() const;
  /// What sets the learning rate of each epoch, also of those of a run that is resumed; nullptr where none is given.
  std::shared_ptr<Callback> make_schedule(double initial_rate, int epochs) const;

  friend bool operator==(const UpdateOptions&, const UpdateOptions&) = default;
};

}  // namespace lockstep::cli
