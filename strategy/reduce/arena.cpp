#include "lockstep/strategy/reduce/arena.h"

#include <algorithm>

#include <lockstep/kernels/op/transfer.h>

namespace lockstep {
namespace {

constexpr std::int64_t cache_line = 16;  // floats

std::int64_t padded(std::int64_t elements) { return (elements + cache_line - 1) / cache_line * cache_line; }

Tensor zeros_on(std::int64_t elements, const LogicalDevice& device) {
  const ContextScope there(context_on(device));
  return Tensor::zeros({elements});
}

}  // namespace

void check_optimizable(const std::vector<Variable>& variables, std::size_t replicas) {
  require(!variables.empty(), "there are no trainable variables to optimize");
  for (auto variable = variables.begin(); variable != variables.end(); ++variable) {
    require(variable->trainable(), "variable '{}' is not trainable", variable->name());
    require(std::find(variables.begin(), variable, *variable) == variable, "variable '{}' is given twice",
            variable->name());
    require(variable->dtype() == DType::f32, "variable '{}' is of {}, optimizers update f32", variable->name(),
            name(variable->dtype()));
    const std::size_t copies = variable->state().copies().size();
    require(copies == replicas || variable->state().serves_all_replicas(),
            "variable '{}' has {} copies for {} replicas: make it inside the strategy's scope()", variable->name(),
            copies, replicas);
  }
}

ParameterArena::ParameterArena(std::vector<Variable> variables, const std::vector<LogicalDevice>& devices)
    : variables_(std::move(variables)), offsets_(variables_.size()) {
  check_optimizable(variables_, devices.size());
  for (std::size_t i = variables_.size(); i-- > 0;) {
    offsets_[i] = elements_;
    elements_ += padded(variables_[i].shape().elements());
  }
  const int copies = static_cast<int>(variables_.front().state().copies().size());
  for (int copy = 0; copy < copies; ++copy) move_in(copy);
  for (int replica = 0; replica < static_cast<int>(devices.size()); ++replica) add_gradients(replica, devices[replica]);
}

void ParameterArena::move_in(int copy) {
  parameters_.push_back(zeros_on(elements_, variables_.front().state().copies()[copy].device()));
  parameter_pointers_.push_back(parameters_.back().data<float>());
  for (std::size_t i = 0; i < variables_.size(); ++i) {
    const Shape& shape = variables_[i].shape();
    const std::int64_t end = offsets_[i] + shape.elements();
    variables_[i].state().move_copy(copy, parameters_.back().slice_view(0, offsets_[i], end).view(shape));
  }
}

void ParameterArena::add_gradients(int replica, const LogicalDevice& device) {
  gradients_.push_back(zeros_on(elements_, device));
  gradient_pointers_.push_back(gradients_.back().data<float>());
  auto& slots = slots_.emplace_back();
  for (std::size_t i = 0; i < variables_.size(); ++i) {
    const Shape& shape = variables_[i].shape();
    const std::int64_t end = offsets_[i] + shape.elements();
    slots.push_back(
        {variables_[i].state().copy_for(replica), gradients_.back().slice_view(0, offsets_[i], end).view(shape)});
  }
}

std::vector<std::int64_t> ParameterArena::sizes_in_order() const {
  std::vector<std::int64_t> sizes;
  for (auto variable = variables_.rbegin(); variable != variables_.rend(); ++variable)
    sizes.push_back(padded(variable->shape().elements()));
  return sizes;
}

bool ParameterArena::holds_variables() const {
  for (std::size_t i = 0; i < variables_.size(); ++i)
    if (variables_[i].state().copies().front().raw_data() != slots_.front()[i].source.raw_data()) return false;
  return true;
}

}  // namespace lockstep
