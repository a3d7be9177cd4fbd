#pragma once

#include <optional>

#include <lockstep/models/config/object_config.h>
#include <lockstep/models/optimizers/optimizer.h>

// Optimizers and schedules as what they were made of, for files. The functions that make them again throw InputError
// for classes and options that this project does not have, InvalidArgument for values out of their range.

namespace lockstep {

/// What an optimizer was made of.
struct OptimizerConfig {
  ObjectConfig rule;                   ///< Keras' class, and the options that are its own
  OptimizerOptions common{};           ///< as given; AdamW's weight_decay is here, too
  LearningRate learning_rate = 0.001;  ///< the number of the next step, or the schedule
};

/// An optimizer of these options that has done no step.
Optimizer optimizer_from_config(const OptimizerConfig& config);

/// Keras' schedule that it is; none for one of a program's own.
std::optional<ObjectConfig> schedule_config(const LearningRate& rate);
/// Of such a schedule.
LearningRateSchedule schedule_from_config(const ObjectConfig& config);

}  // namespace lockstep
