#include "lockstep/models/losses/by_example.h"

#include <numeric>
#include <span>

#include <nlohmann/json.hpp>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/runtime/autograd/tape.h>
#include <lockstep/strategy/core/replica_context.h>

namespace lockstep {
namespace {

/// The shape without its last axis if this axis has size 1 and is not the only one.
Shape without_last_one(const Shape& shape) {
  if (shape.rank() < 2 || shape.dim(-1) != 1) return shape;
  return Shape(std::span(shape.begin(), shape.end() - 1));
}

}  // namespace

Tensor as_f32(const Tensor& y_pred) { return y_pred.dtype() == DType::bf16 ? cast(y_pred, DType::f32) : y_pred; }

bool has_shape_of_targets(const Tensor& y_true, const Shape& shape) {
  if (!y_true.defined() || y_true.rank() == 0) return false;
  const Shape& own = y_true.shape();
  return own == shape || without_last_one(own) == shape || own == without_last_one(shape);
}

Tensor targets_like(const char* loss, const Tensor& y_true, const Tensor& y_pred) {
  require(has_shape_of_targets(y_true, y_pred.shape()), "{} takes targets of the predictions' shape, got {} for {}",
          loss, y_true, y_pred);
  const Tensor targets = y_true.dtype() == DType::f32 ? y_true : cast(y_true, DType::f32);
  return targets.shape() == y_pred.shape() ? targets : reshape(targets, y_pred.shape());
}

Tensor mean_by_example(const Tensor& x) {
  if (x.rank() == 1) return x;
  std::vector<int> axes(static_cast<std::size_t>(x.rank() - 1));
  std::iota(axes.begin(), axes.end(), 1);
  return mean(x, axes);
}

Tensor logits_of(const char* activation, const Tensor& y_pred) {
  const Tensor logits = y_pred.origin(activation);
  return logits.defined() && (recording({logits}) || !recording({y_pred})) ? as_f32(logits) : Tensor();
}

Tensor steps_of(const Tensor& x) {
  Shape shape{x.dim(0) * x.dim(1)};
  for (int axis = 2; axis < x.rank(); ++axis) shape.push_back(x.dim(axis));
  if (x.rank() == 2) shape.push_back(1);
  return reshape(x, shape);
}

Tensor predicted_steps(const Tensor& y_pred) {
  Tensor steps = steps_of(y_pred);
  for (const char* activation : {"softmax", "sigmoid"})
    if (const Tensor logits = y_pred.origin(activation); logits.defined())
      steps = steps.with_origin(activation, steps_of(logits));
  return steps;
}

bool compares_last_axis(const ObjectConfig& config) {
  using Json = nlohmann::ordered_json;
  const Json axis = config.options->value("axis", Json(-1));
  return axis == -1 || axis == Json::array({-1});
}

void check_steps(const std::string& name, const ObjectConfig* config, const Tensor& y_true, const Tensor& mask) {
  const Shape& steps = mask.shape();
  require<Unsupported>(steps.rank() == 2, "{}: the mask of an output must be (examples, time), got {}", name, steps);
  if (config != nullptr && !compares_last_axis(*config))
    fail<Unsupported>("{}: for an output with a mask the axis must be -1, got {}", name,
                      config->options->at("axis").dump());
  require(y_true.defined() && y_true.rank() >= 2 && y_true.dim(0) == steps[0] && y_true.dim(1) == steps[1],
          "{}: an output with a mask {} needs a target for each time step, got {}", name, steps, y_true);
}

Tensor sum_over_replicas(const Tensor& x) {
  if (!current_context().in_replica()) return x;
  const NoGradientScope not_recorded;
  return get_replica_context().all_reduce(ReduceOp::sum, x);
}

Tensor smoothed(const Tensor& targets, double smoothing, double classes) {
  return smoothing == 0 ? targets : targets * (1 - smoothing) + smoothing / classes;
}

void check_smoothing(double label_smoothing) {
  require(label_smoothing >= 0 && label_smoothing <= 1, "label_smoothing lies in [0, 1], got {}", label_smoothing);
}

}  // namespace lockstep
