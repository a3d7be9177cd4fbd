#include "lockstep/models/layers/time_distributed.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/models/layers/added_losses.h>
#include <lockstep/models/layers/inner_call.h>
#include <lockstep/models/layers/layer_checks.h>
#include <lockstep/models/layers/layer_config.h>
#include <lockstep/models/layers/unknown_shape.h>

namespace lockstep {
namespace {

struct TimeDistributedOptions {
  std::string name{};
  std::shared_ptr<LayerImpl> layer{};
  void describe(LayerConfig& config) { config.option("layer", layer, config.input_rank() - 1); }
};

/// The axes of `first`, followed by the axes of `rest` from `axis` on.
Shape with_rest(Shape first, const Shape& rest, int axis) {
  for (int i = axis; i < rest.rank(); ++i) first.push_back(rest[i]);
  return first;
}

class TimeDistributedImpl final : public LayerImpl, public FindsUnknownShape {
 public:
  TimeDistributedImpl(std::string name, const std::shared_ptr<LayerImpl>& layer)
      : LayerImpl(std::move(name), {.can_compute_in_bf16 = layer->traits().can_compute_in_bf16,
                                    .can_be_captured = layer->traits().can_be_captured,
                                    .looks_up_rows = layer->traits().looks_up_rows,
                                    .supports_masking = true}),
        layer_(layer) {}

  std::string_view class_name() const override { return "TimeDistributed"; }

  Shape output_shape(std::span<const Shape> inputs) const override {
    const Shape step = shape_of_step(inputs);
    const Shape result = layer_->output_shape(std::span(&step, 1));
    require(layer_->more_output_shapes(std::span(&step, 1)).empty(),
            "TimeDistributed takes a layer with one result, got {} with several", layer_->class_name());
    return with_rest({inputs[0][0]}, result, 0);
  }

  std::optional<Shape> unknown_output_shape(std::span<const Shape> inputs) const override {
    const Shape step = shape_of_step(inputs);
    if (std::ranges::find(step, -1) == step.end()) return {};
    const std::optional<Shape> result = lockstep::unknown_output_shape(*layer_, std::span(&step, 1));
    return result ? std::optional(with_rest({inputs[0][0]}, *result, 0)) : std::nullopt;
  }

  /// As in Keras 2, a step is masked if all its elements are, unless the layer keeps the axes of the step's own mask.
  /// Keras 3 hands on the whole mask, which no layer can read if the result does not have these axes.
  Tensor compute_mask(std::span<const Tensor> inputs, std::span<const Tensor> masks) const override {
    const Shape input = with_rest({}, inputs[0].shape(), 1);
    const int lost = input.rank() - output_shape(std::span(&input, 1)).rank();
    std::vector<int> axes;
    for (int axis = std::max(2, masks[0].rank() - lost); axis < masks[0].rank(); ++axis) axes.push_back(axis);
    return axes.empty() ? masks[0] : any(masks[0], axes);
  }

  std::uint32_t first_free_stream(std::uint64_t seed) const override {
    return std::max(LayerImpl::first_free_stream(seed), layer_->first_free_stream(seed));
  }

  Tensor call(std::span<const Tensor> inputs, const LayerCall& call) override {
    const Tensor& x = inputs[0];
    const Tensor mask = call.mask(0);
    if (call.mode == Mode::train && layer_->trainable() && layer_->has_statistics()) return by_step(x, mask, call.mode);
    const Tensor y = all_steps(examples_of_steps(x), examples_of_steps(mask), x.dim(1), call.mode);
    return reshape(y, with_rest({x.dim(0), x.dim(1)}, y.shape(), 1));
  }

  void describe(LayerConfig& config) const override { write_options(config, TimeDistributedOptions{.layer = layer_}); }

 private:
  Shape shape_of_step(std::span<const Shape> inputs) const {
    const Shape& input = only_input(class_name(), inputs);
    require(input.rank() >= 2, "TimeDistributed takes (time, ...) with at least one more axis, got {}", input);
    return with_rest({}, input, 1);
  }

  /// (n, time, ...) -> (n * time, ...); undefined for an undefined tensor.
  static Tensor examples_of_steps(const Tensor& x) {
    return x.defined() ? reshape(x, with_rest({x.dim(0) * x.dim(1)}, x.shape(), 2)) : x;
  }

  /// As in Keras, an activity_regularizer of the inner layer has no effect.
  Tensor call_one(const Tensor& x, const Tensor& mask, Mode mode) {
    LayerCall call{.mode = mode, .penalizes_result = false};
    if (mask.defined()) call.masks = std::span(&mask, 1);
    return call_inner(*layer_, *this, std::span(&x, 1), call);
  }

  /// Calls the layer on the examples of all steps at once. The losses that are added in it, means over all of them,
  /// become sums over the steps, as in Keras, which calls the layer for each step. They are also computed where nothing
  /// collects them, because a recomputed block must record the same ops as in its first call.
  Tensor all_steps(const Tensor& x, const Tensor& mask, std::int64_t steps, Mode mode) {
    Tensor y;
    Tensor sum;
    {
      const AddedLosses of_steps;
      y = call_one(x, mask, mode);
      sum = of_steps.sum();
    }
    if (sum.defined()) add_loss(sum * static_cast<double>(steps));
    return y;
  }

  Tensor by_step(const Tensor& x, const Tensor& mask, Mode mode) {
    std::vector<Tensor> results;
    for (std::int64_t step = 0; step < x.dim(1); ++step) {
      const auto in_step = [&](const Tensor& all) {
        return all.defined() ? examples_of_steps(slice(all, 1, step, step + 1)) : all;
      };
      const Tensor y = call_one(in_step(x), in_step(mask), mode);
      results.push_back(reshape(y, with_rest({x.dim(0), 1}, y.shape(), 1)));
    }
    return concatenate(results, 1);
  }

  void make_weights(std::span<const Shape> inputs, const LayerSeed& seed) override {
    const Shape step = shape_of_step(inputs);
    build_inner({.group = "layer", .layer = layer_}, std::span(&step, 1), seed);
  }

  std::shared_ptr<LayerImpl> layer_;
};

}  // namespace

TimeDistributed::TimeDistributed(const Layer& layer, std::string name)
    : Layer(std::make_shared<TimeDistributedImpl>(std::move(name), layer.shared())) {}

TimeDistributed TimeDistributed::from_config(LayerConfig& config) {
  const auto options = read_options<TimeDistributedOptions>(config);
  require(options.layer != nullptr, "TimeDistributed needs a layer");
  return TimeDistributed(Layer(options.layer), options.name);
}

}  // namespace lockstep
