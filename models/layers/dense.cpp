#include "lockstep/models/layers/dense.h"

#include <lockstep/models/layers/kernel_options.h>
#include <lockstep/models/layers/layer_checks.h>
#include <lockstep/models/layers/layer_config.h>
#include <lockstep/models/layers/layer_of.h>

namespace lockstep {
namespace {

class DenseImpl final : public LayerOf<DenseOptions> {
 public:
  explicit DenseImpl(const DenseOptions& options)
      : LayerOf("Dense", options, {.can_compute_in_bf16 = true, .can_be_captured = true, .supports_masking = true}) {
    require(options.units >= 1, "Dense needs at least 1 unit, got {}", options.units);
  }

  Shape output_shape(std::span<const Shape> inputs) const override {
    const Shape& input = only_input(class_name(), inputs);
    require(input.rank() >= 1, "Dense takes vectors (features), or several of them (..., features), got {}", input);
    require(!is_built() || input.dim(-1) == kernel_.shape()[0], "Dense '{}' was built for {} features, got {}", name(),
            is_built() ? kernel_.shape()[0] : 0, input);
    Shape result = input;
    result[input.rank() - 1] = options_.units;
    return result;
  }

  Tensor call(std::span<const Tensor> inputs, const LayerCall& call) override {
    return activated_and_penalized(call, options_, [&](Activation activation) {
      return dense(inputs[0], kernel_.value(), value_if_any(bias_), activation);
    });
  }

 private:
  void make_weights(std::span<const Shape> inputs, const LayerSeed& seed) override {
    kernel_ = add_kernel({inputs[0].dim(-1), options_.units}, seed.key(0));
    bias_ = add_bias({options_.units}, seed.key(1));
  }

  Variable kernel_;
  Variable bias_;
};

}  // namespace

void DenseOptions::describe(LayerConfig& config) {
  config.option("units", units);
  config.option("activation", activation);
  config.option("use_bias", use_bias);
  list_kernel_and_bias(config, *this);
}

Dense::Dense(const DenseOptions& options) : Layer(std::make_shared<DenseImpl>(options)) {}

}  // namespace lockstep
