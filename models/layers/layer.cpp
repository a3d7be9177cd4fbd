#include "lockstep/models/layers/layer.h"

#include <functional>
#include <utility>

#include <fmt/core.h>

#include <lockstep/kernels/array/elementwise.h>

namespace lockstep {

void LayerImpl::build(std::span<const Shape> inputs, const LayerSeed& seed) {
  require<LogicError>(!built_, "layer '{}' has been built already", name_);
  try {
    make_weights(inputs, seed);
  } catch (const std::bad_function_call&) {
    fail("layer '{}' was given an initializer that is null", name_);
  }
  built_ = true;
}

void LayerImpl::describe(LayerConfig&) const {
  fail<Unsupported>("layer '{}' ({}) is none of Keras' that a file of a whole model can hold; save the weights alone",
                    name_, class_name());
}

void LayerImpl::set_trainable(bool trainable) {
  require<LogicError>(!built_, "layer '{}' has been built already: set trainable before that", name_);
  trainable_ = trainable;
}

void LayerImpl::set_dtype_policy(DTypePolicy policy) {
  require<LogicError>(!built_, "layer '{}' has been built already: its dtype policy is settled", name_);
  dtype_policy_ = policy;
}

std::int64_t LayerImpl::count_params() const {
  std::int64_t count = 0;
  for (const Variable& variable : variables_) count += variable.shape().elements();
  return count;
}

Tensor LayerImpl::regularization_loss() const {
  Tensor total;
  for (const auto& [weight, regularizer] : regularized_) {
    const Tensor penalty = regularizer(weight.value());
    total = total.defined() ? add(total, penalty) : penalty;
  }
  return total;
}

std::string Layer::weight_name(const Variable& variable) const {
  const std::string prefix = impl_->name() + "/";
  const std::string& whole = variable.name();
  return whole.starts_with(prefix) ? fmt::format("{}/{}", name(), whole.substr(prefix.size())) : whole;
}

Variable LayerImpl::add_weight(VariableSpec spec, const Regularizer& regularizer, const Constraint& constraint) {
  spec.name = fmt::format("{}/{}", name_, spec.name);
  if (!trainable_) spec.trainable = false;
  const bool is_penalized = regularizer && spec.trainable.value_or(true);  // as in Keras 3
  if (constraint) {
    constraint.check(spec.name, spec.shape);
    spec.constraint = constraint;
  }
  Variable variable(std::move(spec));
  if (is_penalized) regularized_.emplace_back(variable, regularizer);
  return variables_.emplace_back(std::move(variable));
}

Variable LayerImpl::constant_weight(VariableSpec spec) {
  spec.trainable = false;
  return Variable(std::move(spec));
}

}  // namespace lockstep
