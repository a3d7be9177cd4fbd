#pragma once

#include <string>

#include <lockstep/models/config/object_config.h>
#include <lockstep/models/optimizers/adagrad.h>
#include <lockstep/models/optimizers/adam.h>
#include <lockstep/models/optimizers/lamb.h>
#include <lockstep/models/optimizers/rmsprop.h>
#include <lockstep/models/optimizers/sgd.h>

// The options of optimizers and schedules under Keras' names, said once for writing and for reading. Learning rates,
// which may be schedules, are apart: see OptimizerConfig.

namespace lockstep {
///@{
/// Calls visit(key, option) for each; of OptimizerOptions for those that Keras has, too.
template <class Visit>
void list_options(OptimizerOptions& options, const Visit& visit) {
  visit("weight_decay", options.weight_decay);
  visit("clipnorm", options.clipnorm);
  visit("global_clipnorm", options.global_clipnorm);
  visit("clipvalue", options.clipvalue);
  visit("use_ema", options.use_ema);
  visit("ema_momentum", options.ema_momentum);
  visit("ema_overwrite_frequency", options.ema_overwrite_frequency);
  visit("gradient_accumulation_steps", options.gradient_accumulation_steps);
}

template <class Visit>
void list_options(SgdOptions& options, const Visit& visit) {
  visit("momentum", options.momentum);
  visit("nesterov", options.nesterov);
}

template <class Visit>
void list_options(AdamOptions& options, const Visit& visit) {
  visit("beta_1", options.beta_1);
  visit("beta_2", options.beta_2);
  visit("epsilon", options.epsilon);
  visit("amsgrad", options.amsgrad);
}

template <class Visit>
void list_options(LambOptions& options, const Visit& visit) {
  visit("beta_1", options.beta_1);
  visit("beta_2", options.beta_2);
  visit("epsilon", options.epsilon);
}

template <class Visit>
void list_options(RmspropOptions& options, const Visit& visit) {
  visit("rho", options.rho);
  visit("momentum", options.momentum);
  visit("epsilon", options.epsilon);
  visit("centered", options.centered);
}

template <class Visit>
void list_options(AdagradOptions& options, const Visit& visit) {
  visit("initial_accumulator_value", options.initial_accumulator_value);
  visit("epsilon", options.epsilon);
}

template <class Visit>
void list_options(ExponentialDecayOptions& options, const Visit& visit) {
  visit("initial_learning_rate", options.initial_learning_rate);
  visit("decay_steps", options.decay_steps);
  visit("decay_rate", options.decay_rate);
  visit("staircase", options.staircase);
}

template <class Visit>
void list_options(PolynomialDecayOptions& options, const Visit& visit) {
  visit("initial_learning_rate", options.initial_learning_rate);
  visit("decay_steps", options.decay_steps);
  visit("end_learning_rate", options.end_learning_rate);
  visit("power", options.power);
  visit("cycle", options.cycle);
}

template <class Visit>
void list_options(CosineDecayOptions& options, const Visit& visit) {
  visit("initial_learning_rate", options.initial_learning_rate);
  visit("decay_steps", options.decay_steps);
  visit("alpha", options.alpha);
  visit("warmup_target", options.warmup_target);
  visit("warmup_steps", options.warmup_steps);
}

template <class Visit>
void list_options(CosineDecayRestartsOptions& options, const Visit& visit) {
  visit("initial_learning_rate", options.initial_learning_rate);
  visit("first_decay_steps", options.first_decay_steps);
  visit("t_mul", options.t_mul);
  visit("m_mul", options.m_mul);
  visit("alpha", options.alpha);
}
///@}
/// An object of this class with these options.
template <class Options>
ObjectConfig config_of(const std::string& class_name, Options options) {
  ObjectConfig config{.class_name = class_name};
  list_options(options, [&](const char* key, const auto& value) { config.set(key, value); });
  return config;
}

/// The object's options of this kind, with Keras' defaults for those that it does not say.
template <class Options>
Options take_options(ObjectOptions& object) {
  Options options;
  list_options(options, [&](const char* key, auto& value) { object.take(key, value); });
  return options;
}

}  // namespace lockstep
