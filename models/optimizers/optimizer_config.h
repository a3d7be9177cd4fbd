#pragma once

#include <optional>
#include <string>
#include <vector>

#include <lockstep/models/config/object_config.h>
#include <lockstep/models/optimizers/optimizer.h>

// Optimizers and schedules as what they were made of, for files. The functions that make them again throw InputError
// for classes and options that this project does not have.

namespace lockstep {

/// The configuration of an optimizer.
struct OptimizerConfig {
  ObjectConfig rule;                   ///< Keras' class, and the rule's own options
  OptimizerOptions common{};           ///< as given; AdamW's weight_decay is here, too
  LearningRate learning_rate = 0.001;  ///< the number of the next step, or the schedule
  /// Of Optimizer::config, not to make one: Keras' names of what the rule keeps for each variable, in files' order,
  /// those that lie together for each variable in one list.
  std::vector<std::vector<std::string>> slots{};
};

/// An optimizer of these options that has done no step. Throws InvalidArgument for values out of their range.
Optimizer optimizer_from_config(const OptimizerConfig& config);

/// The options of a rule as they were read.
template <class Options>
Options rule_options(const OptimizerConfig& config, void (*list)(OptionVisitor&, Options&)) {
  OptionVisitor visitor("the optimizer " + config.rule.class_name, *config.rule.options);
  Options options = read_options(visitor, list);
  options.learning_rate = config.learning_rate;
  return options;
}

///@{
/// Keras' object of an optimizer, also Keras 2's or its name when it is read. In place of a schedule of a program's own
/// there is the rate of now.
nlohmann::ordered_json optimizer_json(const Optimizer& optimizer, ConfigForm form);
Optimizer optimizer_from_json(nlohmann::ordered_json json);
///@}

/// Keras' schedule that it is; none for one of a program's own.
std::optional<ObjectConfig> schedule_config(const LearningRate& rate);
/// Of such a schedule. Throws InvalidArgument for values out of their range.
LearningRateSchedule schedule_from_config(const ObjectConfig& config);

}  // namespace lockstep
