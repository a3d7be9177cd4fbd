#include "lockstep/models/training/callbacks/learning_rate_scheduler.h"

#include <algorithm>
#include <cmath>

#include <lockstep/models/training/model.h>

namespace lockstep {

LearningRateScheduler::LearningRateScheduler(EpochSchedule schedule) : schedule_(std::move(schedule)) {
  require(schedule_ != nullptr, "LearningRateScheduler needs a function");
}

void LearningRateScheduler::on_epoch_begin(Model& model, const EpochPlan& plan) {
  if (plan.steps_done > 0) return;  // the epoch began in an earlier run
  const Optimizer& optimizer = model.optimizer();
  optimizer.set_learning_rate(schedule_(plan.epoch, optimizer.learning_rate()));
}

EpochSchedule poly_decay(double initial, int epochs, double power) {
  require(epochs >= 1, "poly_decay needs at least 1 epoch, got {}", epochs);
  return [=](int epoch, double) {
    return initial * std::pow(std::max(0.0, 1.0 - static_cast<double>(epoch) / epochs), power);
  };
}

}  // namespace lockstep
