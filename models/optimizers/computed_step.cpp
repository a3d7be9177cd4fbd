#include "lockstep/models/optimizers/computed_step.h"

#include <span>
#include <string_view>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/op/layout.h>
#include <lockstep/kernels/op/transfer.h>
#include <lockstep/kernels/update/element_rule.h>
#include <lockstep/kernels/update/optimizer_rules.h>
#include <lockstep/kernels/update/update_kernels.h>
#include <lockstep/runtime/core/error.h>

namespace lockstep {
namespace {

/// A copy of the values at `from`, which may be another device's memory, scaled and clipped as `step` says. Uses a
/// kernel because, unlike a copy() from another device, it waits for this replica's last step. The kernel also reads
/// its result, which therefore starts as zeros.
Tensor copied(const OptimizerStep& step, const float* from, const Shape& shape) {
  const Tensor result = Tensor::zeros(shape);
  float* const to = result.data<float>();
  launch(kernels::Update{step, {std::span(&from, 1), std::span(&to, 1), {}, shape.elements()}});
  return result;
}

/// Assigns `values` to every copy, and updates `state`, the average if the step has one.
void assign_all(const OptimizerStep& step, const Tensor& values, std::span<float* const> copies,
                std::span<float* const> state) {
  const float* const from = values.data<float>();
  launch(kernels::Update{step, {std::span(&from, 1), copies, state, values.elements()}});
}

/// A result of the rule in a form that kernels can read: dense and on the current device.
Tensor checked(std::string_view what, const Variable& variable, const Tensor& result) {
  require(result.defined() && result.shape() == variable.shape() && result.dtype() == DType::f32,
          "the optimizer's rule must compute {} of '{}' as f32 {}, it computed {}", what, variable.name(),
          variable.shape(), result);
  return make_dense(to_current_device(result));
}

}  // namespace

void compute_step(const Optimizer::Rule& rule, const StepOptions& options, VariableStep& step, int replica,
                  const UpdateViews& views) {
  const Shape& shape = step.variable.shape();
  const std::size_t slots = views.state.size() - (options.average == StepOptions::Average::none ? 0 : 1);
  static const OptimizerStep assign = element_rule(AssignRule());
  OptimizerStep scaling = assign;
  scaling.gradient_scale = options.gradient_scale;
  scaling.clip_value = options.clip_value;
  step.gradient = copied(scaling, views.gradients[0], shape);
  step.value = copied(assign, views.parameters[views.parameters.size() == 1 ? 0 : replica], shape);
  if (options.decay != 0) step.value = step.value - step.value * static_cast<double>(options.decay);
  for (std::size_t i = 0; i < slots; ++i)
    step.slots.push_back(step.keeps[i] ? copied(assign, views.state[i], shape) : Tensor());

  rule.compute(step);
  require(step.slots.size() == slots, "the optimizer's rule must compute {} slots of '{}', it computed {}", slots,
          step.variable.name(), step.slots.size());
  const Tensor value = checked("the new value", step.variable, step.value);
  for (std::size_t i = 0; i < slots; ++i)
    if (step.keeps[i]) step.slots[i] = checked("a slot", step.variable, step.slots[i]);

  for (std::size_t i = 0; i < slots; ++i)
    if (step.keeps[i]) assign_all(assign, step.slots[i], views.state.subspan(i, 1), {});
  OptimizerStep last = assign;
  last.average = options.average;
  last.average_momentum = options.average_momentum;
  assign_all(last, value, views.parameters, views.state.subspan(slots));
}

}  // namespace lockstep
