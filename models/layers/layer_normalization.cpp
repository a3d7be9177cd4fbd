#include "lockstep/models/layers/layer_normalization.h"

#include <algorithm>

#include <fmt/ranges.h>

#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/array/elementwise.h>
#include <lockstep/kernels/array/over_axes.h>
#include <lockstep/kernels/array/shapes.h>
#include <lockstep/kernels/normalization/group_norm.h>
#include <lockstep/kernels/normalization/layer_norm.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/models/layers/layer_checks.h>
#include <lockstep/models/layers/layer_config.h>
#include <lockstep/models/layers/layer_of.h>
#include <lockstep/models/layers/scaled_normalization.h>

namespace lockstep {
namespace {

/// The options that layer and group normalization share.
template <class Options>
void list_parameters(LayerConfig& config, Options& options) {
  config.option("epsilon", options.epsilon);
  config.option("center", options.center);
  config.option("scale", options.scale);
  config.option("beta_initializer", options.beta_initializer);
  config.option("gamma_initializer", options.gamma_initializer);
  config.option("beta_regularizer", options.beta_regularizer);
  config.option("gamma_regularizer", options.gamma_regularizer);
  config.option("beta_constraint", options.beta_constraint);
  config.option("gamma_constraint", options.gamma_constraint);
}

/// The sizes of these axes of an input. Throws the same errors as axes_of.
Shape sizes_of(std::string_view layer, const std::vector<int>& axes, const Shape& input) {
  Shape sizes;
  for (const int axis : axes_of(layer, axes, input)) sizes.push_back(input[axis - 1]);
  return sizes;
}

class LayerNormalizationImpl final : public ScaledNormalizationImpl<LayerNormalizationOptions> {
 public:
  explicit LayerNormalizationImpl(const LayerNormalizationOptions& options)
      : ScaledNormalizationImpl("LayerNormalization", options,
                                {.can_compute_in_bf16 = true, .can_be_captured = true, .supports_masking = true}) {
    require(options.epsilon > 0, "LayerNormalization needs an epsilon above 0, got {}", options.epsilon);
  }

  Shape output_shape(std::span<const Shape> inputs) const override {
    const Shape& input = only_input(class_name(), inputs);
    const Shape features = sizes_of(class_name(), options_.axis, input);
    require(!is_built() || features == gamma_.shape(), "LayerNormalization '{}' was built for features of {}, got {}",
            name(), is_built() ? gamma_.shape() : Shape(), input);
    return input;
  }

  Tensor call(std::span<const Tensor> inputs, const LayerCall&) override {
    return over_axes("layer_norm", inputs[0], options_.axis, [&](const Tensor& x) {
      const auto flat = [&](const Tensor& weight) {
        return weight.rank() == 1 ? weight : reshape(weight, {x.dim(-1)});
      };
      return layer_norm(x, flat(gamma_.value()), flat(beta_.value()), static_cast<float>(options_.epsilon));
    });
  }

 private:
  void make_weights(std::span<const Shape> inputs, const LayerSeed& seed) override {
    make_gamma_and_beta(sizes_of(class_name(), options_.axis, inputs[0]), seed);
  }
};

class GroupNormalizationImpl final : public ScaledNormalizationImpl<GroupNormalizationOptions> {
 public:
  explicit GroupNormalizationImpl(const GroupNormalizationOptions& options)
      : ScaledNormalizationImpl("GroupNormalization", options,
                                {.can_compute_in_bf16 = true, .can_be_captured = true, .supports_masking = true}) {
    require(options.epsilon > 0, "GroupNormalization needs an epsilon above 0, got {}", options.epsilon);
    require(options.groups >= 1 || options.groups == -1, "GroupNormalization needs at least 1 group, or -1, got {}",
            options.groups);
  }

  Shape output_shape(std::span<const Shape> inputs) const override {
    const Shape& input = only_input(class_name(), inputs);
    const std::int64_t channels = channels_of(input);
    require(channels >= 1 && channels % groups_of(channels) == 0,
            "GroupNormalization needs a number of channels divisible by its {} groups, got {} in {}", options_.groups,
            channels, input);
    require(!is_built() || channels == channels_, "GroupNormalization '{}' was built for {} channels, got {}", name(),
            channels_, input);
    return input;
  }

  Tensor call(std::span<const Tensor> inputs, const LayerCall&) override {
    const Tensor x = moveaxis(inputs[0], options_.axis, -1);
    const Tensor y =
        group_norm(x, groups_of(channels_), gamma_.value(), beta_.value(), static_cast<float>(options_.epsilon));
    return moveaxis(y, -1, options_.axis);
  }

 private:
  std::int64_t channels_of(const Shape& input) const { return sizes_of(class_name(), {options_.axis}, input)[0]; }
  std::int64_t groups_of(std::int64_t channels) const { return options_.groups == -1 ? channels : options_.groups; }

  void make_weights(std::span<const Shape> inputs, const LayerSeed& seed) override {
    channels_ = channels_of(inputs[0]);
    make_gamma_and_beta({channels_}, seed);
  }

  std::int64_t channels_ = 0;  ///< channels that the weights were built for
};

class RMSNormalizationImpl final : public LayerOf<RMSNormalizationOptions> {
 public:
  explicit RMSNormalizationImpl(const RMSNormalizationOptions& options)
      : LayerOf("RMSNormalization", options, {.can_be_captured = true}) {
    require(options.epsilon > 0, "RMSNormalization needs an epsilon above 0, got {}", options.epsilon);
  }

  /// Requires the last axes: Keras multiplies by the scale along the last axes, whichever axes it normalizes.
  Shape output_shape(std::span<const Shape> inputs) const override {
    const Shape& input = only_input(class_name(), inputs);
    const std::vector<int> axes = axes_of(class_name(), options_.axis, input);
    require(axes.front() == input.rank() + 1 - static_cast<int>(axes.size()),
            "RMSNormalization needs the last axes, got ({}) for {}", fmt::join(options_.axis, ", "), input);
    require(!is_built() || sizes_of(class_name(), axes, input) == scale_.shape(),
            "RMSNormalization '{}' was built for features of {}, got {}", name(), is_built() ? scale_.shape() : Shape(),
            input);
    return input;
  }

  Tensor call(std::span<const Tensor> inputs, const LayerCall&) override {
    const Tensor& x = inputs[0];
    return x * rsqrt(mean(square(x), options_.axis, true) + options_.epsilon) * scale_.value();
  }

 private:
  void make_weights(std::span<const Shape> inputs, const LayerSeed&) override {
    scale_ =
        add_weight({.name = "scale", .shape = sizes_of(class_name(), options_.axis, inputs[0]), .initializer = ones()});
  }

  Variable scale_;
};

class UnitNormalizationImpl final : public LayerOf<UnitNormalizationOptions> {
 public:
  explicit UnitNormalizationImpl(const UnitNormalizationOptions& options)
      : LayerOf("UnitNormalization", options, {.can_be_captured = true, .supports_masking = true}) {}

  Shape output_shape(std::span<const Shape> inputs) const override {
    const Shape& input = only_input(class_name(), inputs);
    axes_of(class_name(), options_.axis, input);
    return input;
  }

  /// The lower bound, the square of 1e-12, keeps the gradient of zeros finite.
  Tensor call(std::span<const Tensor> inputs, const LayerCall&) override {
    const Tensor& x = inputs[0];
    return x * rsqrt(maximum(sum(square(x), options_.axis, true), 1e-24));
  }
};

}  // namespace

void LayerNormalizationOptions::describe(LayerConfig& config) {
  config.axes("axis", axis);
  config.fixed("rms_scaling", false, "use the layer RMSNormalization");
  list_parameters(config, *this);
}

void GroupNormalizationOptions::describe(LayerConfig& config) {
  config.option("groups", groups);
  config.axis("axis", axis);
  list_parameters(config, *this);
}

void RMSNormalizationOptions::describe(LayerConfig& config) {
  config.axes("axis", axis);
  config.option("epsilon", epsilon);
}

void UnitNormalizationOptions::describe(LayerConfig& config) { config.axes("axis", axis); }

LayerNormalization::LayerNormalization(const LayerNormalizationOptions& options)
    : Layer(std::make_shared<LayerNormalizationImpl>(options)) {}

GroupNormalization::GroupNormalization(const GroupNormalizationOptions& options)
    : Layer(std::make_shared<GroupNormalizationImpl>(options)) {}

RMSNormalization::RMSNormalization(const RMSNormalizationOptions& options)
    : Layer(std::make_shared<RMSNormalizationImpl>(options)) {}

UnitNormalization::UnitNormalization(const UnitNormalizationOptions& options)
    : Layer(std::make_shared<UnitNormalizationImpl>(options)) {}

}  // namespace lockstep
