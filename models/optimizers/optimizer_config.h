#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <lockstep/models/config/class_registry.h>
#include <lockstep/models/optimizers/optimizer.h>

// Configurations of optimizers and schedules, for files. The functions that make objects from them throw InputError for
// classes and options that are not supported.

namespace lockstep {

/// The configuration of an optimizer.
struct OptimizerConfig {
  ObjectConfig rule;                   ///< Keras' class, and the rule's own options
  OptimizerOptions common{};           ///< the common options, including AdamW's or Muon's weight_decay
  LearningRate learning_rate = 0.001;  ///< the rate of the next step, or the schedule
  /// Keras' names of the rule's slots, in the order of files. Set by Optimizer::config; optimizer_from_config ignores
  /// it. Slots that files interleave variable by variable (Rule::Slot::beside_previous) are in one list.
  std::vector<std::vector<std::string>> slots{};
  /// Whether files have a slot for a variable. Set and ignored like `slots`.
  std::function<bool(const std::string& slot, const Variable& variable)> has_slot{};
  /// The axis that files leave out of a slot (Rule::Slot::left_out_axis). Set and ignored like `slots`.
  std::function<int(const std::string& slot)> left_out_axis{};
  /// Keras' state values that belong to the optimizer rather than to a variable (Rule::scalars). Files store them after
  /// the slots. Set and ignored like `slots`.
  std::vector<double> scalars{};
};

/// The classes of optimizers.
ClassRegistry<Optimizer, const OptimizerConfig>& optimizer_classes();

/// A new optimizer with these options. Throws InvalidArgument for values out of their range, and InputError for an
/// unknown class.
Optimizer optimizer_from_config(const OptimizerConfig& config);

/// Returns `common` with the given weight decay, for an optimizer with a weight decay among its own options, such as
/// AdamW. Throws InvalidArgument, naming `class_name`, if `common` already has a weight decay.
OptimizerOptions with_own_decay(const char* class_name, OptimizerOptions common, double weight_decay);

/// Reads the options of a rule; options that the configuration lacks keep their defaults. Throws the same errors as
/// Options::describe and check_all_read().
template <class Options>
requires requires(Options options, OptionVisitor& visitor, const OptimizerConfig& config) {
  options.describe(visitor);
  options.learning_rate = config.learning_rate;
}
Options read_options(const OptimizerConfig& config) {
  OptionVisitor visitor("the optimizer " + config.rule.class_name, *config.rule.options);
  Options options = read_options<Options>(visitor);
  options.learning_rate = config.learning_rate;
  return options;
}

///@{
/// The options beta_1, beta_2 and epsilon of Adam and similar optimizers. check_moments throws InvalidArgument, naming
/// `class_name`, unless the betas lie in [0, 1) and epsilon is positive.
template <class Options>
void list_moments(OptionVisitor& visitor, Options& options) {
  visitor.option("beta_1", options.beta_1);
  visitor.option("beta_2", options.beta_2);
  visitor.option("epsilon", options.epsilon);
}
template <class Options>
void check_moments(const char* class_name, const Options& options) {
  require(0 <= options.beta_1 && options.beta_1 < 1 && 0 <= options.beta_2 && options.beta_2 < 1,
          "the betas of {} must lie in [0, 1), got {} and {}", class_name, options.beta_1, options.beta_2);
  require(options.epsilon > 0, "the epsilon of {} must be positive, got {}", class_name, options.epsilon);
}
///@}

///@{
/// Write and read Keras' JSON object of an optimizer. A custom schedule is written as the current rate. Objects and
/// names of Keras 2 are also read. Writing throws Unsupported for a custom class that is not registered. Reading throws
/// InputError also for values out of their range.
nlohmann::ordered_json optimizer_json(const Optimizer& optimizer, ConfigForm form);
Optimizer optimizer_from_json(const nlohmann::ordered_json& json);
///@}

/// The configuration of a rate that follows one of Keras' schedules; empty for a number and for a custom schedule.
std::optional<ObjectConfig> schedule_config(const LearningRate& rate);
/// The schedule of this configuration. Throws InvalidArgument for values out of their range.
LearningRateSchedule schedule_from_config(const ObjectConfig& config);

}  // namespace lockstep
