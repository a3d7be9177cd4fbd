#include "lockstep/models/layers/layer_normalization.h"

#include <lockstep/kernels/normalization/layer_norm.h>
#include <lockstep/models/layers/layer_checks.h>
#include <lockstep/models/layers/layer_config.h>

namespace lockstep {
namespace {

void list(LayerConfig& config, LayerNormalizationOptions& options) {
  config.last_axis("axis");
  config.option("epsilon", options.epsilon);
  config.option("center", options.center);
  config.option("scale", options.scale);
  config.fixed("rms_scaling", false);
  config.option("beta_initializer", options.beta_initializer);
  config.option("gamma_initializer", options.gamma_initializer);
  config.option("beta_regularizer", options.beta_regularizer);
  config.option("gamma_regularizer", options.gamma_regularizer);
  config.option("beta_constraint", options.beta_constraint);
  config.option("gamma_constraint", options.gamma_constraint);
}

class LayerNormalizationImpl final : public LayerImpl {
 public:
  explicit LayerNormalizationImpl(const LayerNormalizationOptions& options)
      : LayerImpl(options.name, {.can_be_captured = true, .supports_masking = true}), options_(options) {
    require(options.epsilon > 0, "LayerNormalization needs an epsilon above 0, got {}", options.epsilon);
  }

  std::string_view class_name() const override { return "LayerNormalization"; }

  Shape output_shape(std::span<const Shape> inputs) const override {
    const Shape& input = only_input(class_name(), inputs);
    require(input.rank() >= 1, "LayerNormalization needs an axis of features, got {}", input);
    require(!is_built() || input.dim(-1) == gamma_.shape()[0],
            "LayerNormalization '{}' was built for {} features, got {}", name(), is_built() ? gamma_.shape()[0] : 0,
            input);
    return input;
  }

  Tensor call(std::span<const Tensor> inputs, const LayerCall&) override {
    return layer_norm(inputs[0], gamma_.value(), beta_.value(), static_cast<float>(options_.epsilon));
  }

  void describe(LayerConfig& config) const override { write_options(config, list, options_); }

 private:
  void make_weights(std::span<const Shape> inputs, const LayerSeed& seed) override {
    const Shape features{inputs[0].dim(-1)};
    VariableSpec gamma{.name = "gamma", .shape = features, .initializer = options_.gamma_initializer(seed.key(0))};
    VariableSpec beta{.name = "beta", .shape = features, .initializer = options_.beta_initializer(seed.key(1))};
    if (!options_.scale) gamma.initializer = ones();
    if (!options_.center) beta.initializer = zeros();
    gamma_ = options_.scale ? add_weight(gamma, options_.gamma_regularizer, options_.gamma_constraint)
                            : constant_weight(gamma);
    beta_ =
        options_.center ? add_weight(beta, options_.beta_regularizer, options_.beta_constraint) : constant_weight(beta);
  }

  LayerNormalizationOptions options_;
  Variable gamma_;
  Variable beta_;
};

}  // namespace

LayerNormalization::LayerNormalization(const LayerNormalizationOptions& options)
    : Layer(std::make_shared<LayerNormalizationImpl>(options)) {}

LayerNormalization LayerNormalization::from_config(LayerConfig& config) {
  return LayerNormalization(read_options<LayerNormalizationOptions>(config, list));
}

}  // namespace lockstep
