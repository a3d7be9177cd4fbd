#include "lockstep/models/optimizers/optimizer_config.h"

#include <utility>

#include <lockstep/models/optimizers/option_lists.h>

namespace lockstep {
namespace {

template <class Options>
Options rule_options(const OptimizerConfig& config) {
  ObjectOptions object("optimizer", config.rule);
  auto options = take_options<Options>(object);
  object.check_all_taken();
  options.learning_rate = config.learning_rate;
  return options;
}

Optimizer adamw_of(const OptimizerConfig& config) {
  const auto options = rule_options<AdamOptions>(config);
  OptimizerOptions common = config.common;
  return AdamW({.learning_rate = options.learning_rate,
                .weight_decay = std::exchange(common.weight_decay, 0),
                .beta_1 = options.beta_1,
                .beta_2 = options.beta_2,
                .epsilon = options.epsilon,
                .amsgrad = options.amsgrad},
               common);
}

}  // namespace

Optimizer optimizer_from_config(const OptimizerConfig& config) {
  const std::string& name = config.rule.class_name;
  if (name == "SGD") return SGD(rule_options<SgdOptions>(config), config.common);
  if (name == "Adam") return Adam(rule_options<AdamOptions>(config), config.common);
  if (name == "AdamW") return adamw_of(config);
  if (name == "RMSprop") return RMSprop(rule_options<RmspropOptions>(config), config.common);
  if (name == "Adagrad") return Adagrad(rule_options<AdagradOptions>(config), config.common);
  if (name == "Lamb") return Lamb(rule_options<LambOptions>(config), config.common);
  fail<InputError>("the optimizer is of class {}; known are SGD, Adam, AdamW, RMSprop, Adagrad and Lamb", name);
}

}  // namespace lockstep
