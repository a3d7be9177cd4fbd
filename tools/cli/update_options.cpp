#include "update_options.h"

#include <cmath>
#include <numbers>

#include <lockstep/models/optimizers/adagrad.h>
#include <lockstep/models/optimizers/adam.h>
#include <lockstep/models/optimizers/lamb.h>
#include <lockstep/models/optimizers/rmsprop.h>
#include <lockstep/models/optimizers/sgd.h>
#include <lockstep/models/training/callbacks/lambda_callback.h>
#include <lockstep/models/training/callbacks/learning_rate_scheduler.h>
#include <lockstep/models/training/model.h>

namespace lockstep::cli {
namespace {

/// The optimizer's own options with the learning rate that was given.
template <class Options>
Options with_rate(Options options, const std::optional<double>& rate) {
  if (rate) options.learning_rate = *rate;
  return options;
}

/// Half a cosine wave from the initial rate to nearly 0.
EpochSchedule cosine_decay(double initial, int epochs) {
  return
      [initial, epochs](int epoch, double) { return initial / 2 * (1 + std::cos(std::numbers::pi * epoch / epochs)); };
}

/// A tenth after half of the epochs, a hundredth after three quarters: what residual networks were trained with.
EpochSchedule step_decay(double initial, int epochs) {
  return [initial, epochs](int epoch, double) {
    return initial * (4 * epoch >= 3 * epochs ? 0.01 : 2 * epoch >= epochs ? 0.1 : 1.0);
  };
}

}  // namespace

void UpdateOptions::add_to(CLI::App& command) {
  command.add_option("--optimizer", optimizer, "sgd, adam, adamw, rmsprop, adagrad or lamb (default sgd)")
      ->check(CLI::IsMember({"sgd", "adam", "adamw", "rmsprop", "adagrad", "lamb"}));
  command.add_option("--learning-rate", learning_rate, "default: Keras', 0.01 for sgd and 0.001 for the others");
  command.add_option("--momentum", momentum, "of sgd and rmsprop (default 0)");
  command.add_option(
      "--weight-decay", weight_decay,
      "share of each weight that a step takes off, times the learning rate (default 0; 0.004 for adamw)");
  command.add_option("--clip-norm", clip_norm, "the largest norm that all gradients together may have (default none)");
  command
      .add_option("--schedule", schedule,
                  "of the learning rate by epoch: constant; poly: linearly to 0; cosine: half a wave to 0; step: a "
                  "tenth after half of the epochs, a hundredth after three quarters (default constant)")
      ->check(CLI::IsMember({"constant", "poly", "cosine", "step"}));
}

bool UpdateOptions::choose_optimizer() const {
  UpdateOptions nothing;
  nothing.schedule = schedule;
  return *this != nothing;
}

Optimizer UpdateOptions::make_optimizer() const {
  require(!learning_rate || (std::isfinite(*learning_rate) && *learning_rate > 0),
          "--learning-rate: must be a positive number, got {}", learning_rate.value_or(0));
  require(!momentum || optimizer == "sgd" || optimizer == "rmsprop",
          "--momentum belongs to --optimizer sgd and rmsprop, not to {}", optimizer);
  const double inertia = momentum.value_or(0);
  require(inertia >= 0 && inertia <= 1, "--momentum: must be between 0 and 1, got {}", inertia);
  require(!weight_decay || (std::isfinite(*weight_decay) && *weight_decay >= 0),
          "--weight-decay: must be a number of at least 0, got {}", weight_decay.value_or(0));
  require(std::isfinite(clip_norm) && clip_norm >= 0, "--clip-norm: must be a number of at least 0, got {}", clip_norm);
  OptimizerOptions common{.global_clipnorm = clip_norm};
  if (optimizer == "adamw") {
    AdamWOptions options = with_rate(AdamWOptions{}, learning_rate);
    options.weight_decay = weight_decay.value_or(options.weight_decay);
    return AdamW(options, common);
  }
  common.weight_decay = weight_decay.value_or(0);
  if (optimizer == "adam") return Adam(with_rate(AdamOptions{}, learning_rate), common);
  if (optimizer == "rmsprop") return RMSprop(with_rate(RmspropOptions{.momentum = inertia}, learning_rate), common);
  if (optimizer == "adagrad") return Adagrad(with_rate(AdagradOptions{}, learning_rate), common);
  if (optimizer == "lamb") return Lamb(with_rate(LambOptions{}, learning_rate), common);
  return SGD(with_rate(SgdOptions{.momentum = inertia}, learning_rate), common);
}

std::shared_ptr<Callback> UpdateOptions::make_schedule(double initial_rate, int epochs) const {
  if (schedule == "constant" && !learning_rate) return nullptr;
  const EpochSchedule rate = schedule == "poly"     ? poly_decay(initial_rate, epochs)
                             : schedule == "cosine" ? cosine_decay(initial_rate, epochs)
                             : schedule == "step"   ? step_decay(initial_rate, epochs)
                                                    : [=](int, double) { return initial_rate; };
  // No LearningRateScheduler, which leaves the rest of an epoch that is resumed to the rate of before.
  return std::make_shared<LambdaCallback>(
      LambdaCallbackOptions{.on_epoch_begin = [rate](Model& model, const EpochPlan& plan) {
        model.optimizer().set_learning_rate(rate(plan.epoch, model.optimizer().learning_rate()));
      }});
}

}  // namespace lockstep::cli
