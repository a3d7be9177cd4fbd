#include "lockstep/models/training/callbacks/reduce_lr_on_plateau.h"

#include <algorithm>

#include <lockstep/models/training/model.h>

namespace lockstep {

ReduceLROnPlateau::ReduceLROnPlateau(const ReduceLROnPlateauOptions& options)
    : options_(options), monitor_(options.monitor, options.mode, options.min_delta) {
  require(options.factor < 1, "ReduceLROnPlateau needs a factor below 1, got {}", options.factor);
}

void ReduceLROnPlateau::on_train_begin(Model& model) {
  monitor_.resolve(model);
  wait_ = 0;
  cooldown_ = 0;
  best_.reset();
}

void ReduceLROnPlateau::on_epoch_end(Model& model, int, const Logs& logs) {
  const std::optional<double> current = monitor_.value_in(logs);
  if (!current) return;
  if (cooldown_ > 0) {
    --cooldown_;
    wait_ = 0;
  }
  if (monitor_.is_improvement(*current, best_)) {
    best_ = current;
    wait_ = 0;
  } else if (cooldown_ == 0 && ++wait_ >= options_.patience) {
    reduce(model);
  }
}

void ReduceLROnPlateau::reduce(const Model& model) {
  const double rate = model.optimizer().learning_rate();
  if (rate <= options_.min_lr) return;
  model.optimizer().set_learning_rate(std::max(rate * options_.factor, options_.min_lr));
  cooldown_ = options_.cooldown;
  wait_ = 0;
}

CallbackState ReduceLROnPlateau::state() const {
  CallbackState state{.values = {{"cooldown", cooldown_}, {"wait", wait_}}};
  if (best_) state.values["best"] = *best_;
  return state;
}

void ReduceLROnPlateau::load_state(const CallbackState& state) {
  cooldown_ = static_cast<int>(state.values.at("cooldown"));
  wait_ = static_cast<int>(state.values.at("wait"));
  const auto best = state.values.find("best");
  best_ = best == state.values.end() ? std::nullopt : std::optional(best->second);
}

}  // namespace lockstep
