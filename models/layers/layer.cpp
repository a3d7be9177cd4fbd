#include "lockstep/models/layers/layer.h"

#include <algorithm>
#include <functional>
#include <utility>

#include <fmt/core.h>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/models/layers/added_losses.h>
#include <lockstep/models/layers/naming.h>
#include <lockstep/runtime/device/context.h>

namespace lockstep {

void LayerImpl::build(std::span<const Shape> inputs, const LayerSeed& seed) {
  require<LogicError>(!is_built(), "layer '{}' has been built already", name_);
  try {
    make_weights(inputs, seed);
  } catch (const std::bad_function_call&) {
    fail("layer '{}' was given an initializer that is null", name_);
  }
  seed_ = seed;
}

std::uint32_t LayerImpl::first_free_stream(std::uint64_t seed) const {
  return seed_ && seed_->seed == seed ? seed_->stream + 1 : 0;
}

Tensor LayerImpl::compute_mask(std::span<const Tensor>, std::span<const Tensor> masks) const { return masks.front(); }

void LayerImpl::describe(LayerConfig&) const {
  fail<Unsupported>(
      "files of whole models cannot hold layer '{}' of the custom class {}; override its describe and register it with "
      "register_keras_serializable, or save only the weights",
      name_, class_name());
}

void LayerImpl::set_name(std::string name) {
  name_ = std::move(name);
  has_automatic_name_ = false;
}

void LayerImpl::set_automatic_name(std::string name) {
  set_name(std::move(name));
  has_automatic_name_ = true;
}

void LayerImpl::set_trainable(bool trainable) {
  require<LogicError>(!current_context().in_replica(),
                      "layer '{}' was {} inside a replica; do it outside run(), for all of them", name_,
                      trainable ? "thawed" : "frozen");
  for (const Variable& variable : variables_) {
    const bool is_mean =
        variable.synchronization() == Synchronization::on_read && variable.aggregation() == Aggregation::mean;
    if (!trainable && is_mean && is_real(variable.dtype())) variable.assign(variable.value());
    variable.state().set_trainable(trainable && *variable.state().spec().trainable);
  }
  mark_trainable(trainable);
}

void LayerImpl::mark_trainable(bool trainable) {
  trainable_ = trainable;
  for (const InnerLayer& inner : inner_layers_) inner.layer->mark_trainable(trainable);
}

void LayerImpl::set_dtype_policy(DTypePolicy policy) {
  require<LogicError>(!is_built(), "layer '{}' has been built already: its dtype policy cannot change", name_);
  dtype_policy_ = policy;
}

bool LayerImpl::has_statistics() const {
  return std::ranges::any_of(variables_, [](const Variable& variable) { return !*variable.state().spec().trainable; });
}

std::int64_t LayerImpl::count_params() const {
  std::int64_t count = 0;
  for (const Variable& variable : variables_) count += variable.shape().elements();
  return count;
}

Tensor LayerImpl::regularization_loss() const {
  Tensor total;
  for (const auto& [weight, regularizer] : regularized_) {
    if (!weight.trainable()) continue;  // as in Keras 3
    const Tensor penalty = regularizer(weight.value());
    total = total.defined() ? add(total, penalty) : penalty;
  }
  return total;
}

void LayerImpl::add_loss(const Tensor& loss) {
  require(loss.defined() && loss.rank() == 0 && is_real(loss.dtype()),
          "add_loss takes a scalar of floating-point numbers, got {}", loss);
  AddedLosses::add(cast(loss, DType::f32));
}

Layer Layer::with_name(std::string name) const {
  Layer layer = *this;
  layer.name_ = std::move(name);
  return layer;
}

std::string Layer::weight_name(const Variable& variable) const {
  const std::string prefix = impl_->name() + "/";
  const std::string& whole = variable.name();
  return whole.starts_with(prefix) ? fmt::format("{}/{}", name(), whole.substr(prefix.size())) : whole;
}

Variable LayerImpl::add_weight(VariableSpec spec, const Regularizer& regularizer, const Constraint& constraint) {
  spec.name = fmt::format("{}{}/{}", outer_name_, name_, spec.name);
  if (constraint) {
    constraint.check(spec.name, spec.shape);
    spec.constraint = constraint;
  }
  Variable variable(std::move(spec));
  if (!trainable_) variable.state().set_trainable(false);
  if (regularizer) regularized_.emplace_back(variable, regularizer);
  return variables_.emplace_back(std::move(variable));
}

void LayerImpl::build_inner(const InnerLayer& inner, std::span<const Shape> inputs, const LayerSeed& seed) {
  constexpr std::uint32_t sequences = 4;  // of an inner layer: its weights and random draws
  LayerImpl& layer = *inner.layer;
  require(!layer.is_built(), "{} '{}' cannot hold layer '{}', which has been built already: give it one of its own",
          class_name(), name_, layer.name());
  if (layer.name().empty()) layer.set_name(snake_case(layer.class_name()));
  if (!trainable_) layer.set_trainable(false);
  layer.outer_name_ = fmt::format("{}{}/", outer_name_, name_);
  LayerSeed own = seed;
  own.first += sequences * static_cast<std::uint32_t>(inner_layers_.size());
  layer.build(inputs, own);
  list_inner(inner);
}

void LayerImpl::adopt_inner(const InnerLayer& inner) {
  LayerImpl& layer = *inner.layer;
  require(!layer.is_inner(), "{} '{}' cannot hold layer '{}', which another layer holds: give it one of its own",
          class_name(), name_, layer.name());
  if (!trainable_) layer.set_trainable(false);
  layer.outer_name_ = fmt::format("{}{}/", outer_name_, name_);
  list_inner(inner);
}

void LayerImpl::list_inner(const InnerLayer& inner) {
  const LayerImpl& layer = *inner.layer;
  variables_.insert(variables_.end(), layer.variables_.begin(), layer.variables_.end());
  regularized_.insert(regularized_.end(), layer.regularized_.begin(), layer.regularized_.end());
  inner_layers_.push_back(inner);
}

Variable LayerImpl::constant_weight(VariableSpec spec) {
  spec.trainable = false;
  return Variable(std::move(spec));
}

}  // namespace lockstep
