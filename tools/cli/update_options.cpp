#include "update_options.h"

#include <cmath>
#include <numbers>

#include <nlohmann/json.hpp>

#include <lockstep/models/optimizers/adagrad.h>
#include <lockstep/models/optimizers/adam.h>
#include <lockstep/models/optimizers/lamb.h>
#include <lockstep/models/optimizers/optimizer_config.h>
#include <lockstep/models/optimizers/rmsprop.h>
#include <lockstep/models/optimizers/sgd.h>
#include <lockstep/models/training/callbacks/lambda_callback.h>
#include <lockstep/models/training/callbacks/learning_rate_scheduler.h>
#include <lockstep/models/training/model.h>

namespace lockstep::cli {
namespace {

/// The optimizer's default options, with the given learning rate if there is one.
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

/// A tenth after half of the epochs, a hundredth after three quarters, as used to train residual networks.
EpochSchedule step_decay(double initial, int epochs) {
  return [initial, epochs](int epoch, double) {
    const double done = static_cast<double>(epoch) / epochs;
    return initial * (done >= 0.75 ? 0.01 : done >= 0.5 ? 0.1 : 1.0);
  };
}

}  // namespace

Optimizer UpdateOptions::make_optimizer() const {
  const std::string name = optimizer.value_or("sgd");
  require(!learning_rate || (std::isfinite(*learning_rate) && *learning_rate > 0),
          "--learning-rate: must be a positive number, got {}", learning_rate.value_or(0));
  require(!momentum || name == "sgd" || name == "rmsprop",
          "--momentum belongs to --optimizer sgd and rmsprop, not to {}", name);
  const double inertia = momentum.value_or(0);
  require(inertia >= 0 && inertia <= 1, "--momentum: must be between 0 and 1, got {}", inertia);
  require(!weight_decay || (std::isfinite(*weight_decay) && *weight_decay >= 0),
          "--weight-decay: must be a number of at least 0, got {}", weight_decay.value_or(0));
  const double norm = clip_norm.value_or(0);
  require(std::isfinite(norm) && norm >= 0, "--clip-norm: must be a number of at least 0, got {}", norm);
  OptimizerOptions common{.global_clipnorm = norm};
  if (name == "adamw") {
    AdamWOptions options = with_rate(AdamWOptions{}, learning_rate);
    options.weight_decay = weight_decay.value_or(options.weight_decay);
    return AdamW(options, common);
  }
  common.weight_decay = weight_decay.value_or(0);
  if (name == "adam") return Adam(with_rate(AdamOptions{}, learning_rate), common);
  if (name == "rmsprop") return RMSprop(with_rate(RmspropOptions{.momentum = inertia}, learning_rate), common);
  if (name == "adagrad") return Adagrad(with_rate(AdagradOptions{}, learning_rate), common);
  if (name == "lamb") return Lamb(with_rate(LambOptions{}, learning_rate), common);
  return SGD(with_rate(SgdOptions{.momentum = inertia}, learning_rate), common);
}

Optimizer UpdateOptions::changed(const Optimizer& saved) const {
  if (optimizer) return make_optimizer();
  const bool rate_is_set = learning_rate || schedule != "constant";
  if (!rate_is_set && !momentum && !weight_decay && !clip_norm) return saved;
  OptimizerConfig config = saved.config();
  OptimizerState state = saved.state();
  if (rate_is_set) config.learning_rate = state.learning_rate = learning_rate.value_or(saved.learning_rate());
  if (weight_decay) config.common.weight_decay = *weight_decay;
  if (clip_norm) {
    config.common.clipvalue = config.common.clipnorm = 0;
    config.common.global_clipnorm = *clip_norm;
  }
  if (momentum) {
    nlohmann::ordered_json options = *config.rule.options;
    require(options.contains("momentum"), "--momentum belongs to sgd and rmsprop, the model's optimizer is {}",
            config.rule.class_name);
    require(state.steps == 0 || (*momentum == 0) == (options["momentum"] == 0),
            "--momentum {}: does not fit the state of the model's optimizer; --optimizer starts with a new state",
            *momentum);
    options["momentum"] = *momentum;
    config.rule.options = ObjectConfig::copy_of(options);
  }
  const Optimizer made = optimizer_from_config(config);
  made.load_state(state);
  return made;
}

std::shared_ptr<Callback> UpdateOptions::make_schedule(double initial_rate, int epochs) const {
  if (schedule == "constant" && !learning_rate) return nullptr;
  const EpochSchedule rate = schedule == "poly"     ? poly_decay(initial_rate, epochs)
                             : schedule == "cosine" ? cosine_decay(initial_rate, epochs)
                             : schedule == "step"   ? step_decay(initial_rate, epochs)
                                                    : [=](int, double) { return initial_rate; };
  // LearningRateScheduler does not fit: it would finish a resumed epoch with the old learning rate.
  return std::make_shared<LambdaCallback>(
      LambdaCallbackOptions{.on_epoch_begin = [rate](Model& model, const EpochPlan& plan) {
        model.optimizer().set_learning_rate(rate(plan.epoch, model.optimizer().learning_rate()));
      }});
}

}  // namespace lockstep::cli
