#include "lockstep/models/layers/application_layers.h"

#include <cmath>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/models/layers/initializers.h>
#include <lockstep/models/layers/layer_checks.h>
#include <lockstep/models/layers/layer_config.h>
#include <lockstep/models/layers/layer_of.h>

namespace lockstep {
namespace {

class CustomScaleLayerImpl final : public LayerOf<CustomScaleLayerOptions> {
 public:
  explicit CustomScaleLayerImpl(const CustomScaleLayerOptions& options)
      : LayerOf("CustomScaleLayer", options, {.can_compute_in_bf16 = true, .can_be_captured = true}) {
    require(std::isfinite(options.scale), "CustomScaleLayer needs a scale that is finite, got {}", options.scale);
  }

  Shape output_shape(std::span<const Shape> inputs) const override {
    require(inputs.size() == 2, "CustomScaleLayer takes two inputs, got {}", inputs.size());
    require(inputs[0] == inputs[1], "CustomScaleLayer takes inputs of one shape, got {} and {}", inputs[0], inputs[1]);
    return inputs[0];
  }

  Tensor call(std::span<const Tensor> inputs, const LayerCall&) override {
    return add(inputs[0], multiply(inputs[1], options_.scale));
  }

  void describe(LayerConfig& config) const override {
    config.of_applications("keras.src.applications.inception_resnet_v2");
    LayerOf::describe(config);
  }
};

class LayerScaleImpl final : public LayerOf<LayerScaleOptions> {
 public:
  explicit LayerScaleImpl(const LayerScaleOptions& options)
      : LayerOf("LayerScale", options, {.can_be_captured = true}) {
    require(options.projection_dim >= 1, "LayerScale needs a projection_dim of at least 1, got {}",
            options.projection_dim);
  }

  Shape output_shape(std::span<const Shape> inputs) const override {
    const Shape& input = only_input(class_name(), inputs);
    require(input.rank() >= 1 && input.dim(-1) == options_.projection_dim,
            "LayerScale takes {} channels, its projection_dim, got {}", options_.projection_dim, input);
    return input;
  }

  Tensor call(std::span<const Tensor> inputs, const LayerCall&) override { return multiply(inputs[0], gamma_.value()); }

  void describe(LayerConfig& config) const override {
    config.of_applications("keras.src.applications.convnext");
    LayerOf::describe(config);
  }

 private:
  void make_weights(std::span<const Shape>, const LayerSeed& seed) override {
    gamma_ = add_weight({.name = "gamma",
                         .shape = {options_.projection_dim},
                         .initializer = constant(options_.init_values)(seed.key(0))});
  }

  Variable gamma_;
};

}  // namespace

void CustomScaleLayerOptions::describe(LayerConfig& config) { config.option("scale", scale); }

void LayerScaleOptions::describe(LayerConfig& config) {
  config.option("init_values", init_values);
  config.option("projection_dim", projection_dim);
}

CustomScaleLayer::CustomScaleLayer(const CustomScaleLayerOptions& options)
    : Layer(std::make_shared<CustomScaleLayerImpl>(options)) {}

LayerScale::LayerScale(const LayerScaleOptions& options) : Layer(std::make_shared<LayerScaleImpl>(options)) {}

}  // namespace lockstep
