#include "lockstep/models/layers/conv1d.h"

#include <lockstep/models/layers/kernel_options.h>
#include <lockstep/models/layers/layer_checks.h>
#include <lockstep/models/layers/layer_config.h>
#include <lockstep/models/layers/layer_of.h>

namespace lockstep {
namespace {

class Conv1DImpl final : public LayerOf<Conv1DOptions> {
 public:
  explicit Conv1DImpl(const Conv1DOptions& options)
      : LayerOf("Conv1D", options, {.can_compute_in_bf16 = true, .can_be_captured = true}) {
    check_size("Conv1D", "filters", options.filters);
    check_convolution("Conv1D", options);
    check_size("Conv1D", "groups", options.groups);
    require(options.filters % options.groups == 0,
            "Conv1D needs a number of filters divisible by its {} groups, got {}", options.groups, options.filters);
  }

  Shape output_shape(std::span<const Shape> inputs) const override {
    const Shape& input = only_steps("Conv1D", inputs);
    require(!is_built() || input[1] == kernel_.shape()[1] * options_.groups,
            "Conv1D '{}' was built for {} channels, got {}", name(),
            is_built() ? kernel_.shape()[1] * options_.groups : 0, input);
    require(input[1] % options_.groups == 0, "Conv1D needs a number of channels divisible by its {} groups, got {}",
            options_.groups, input[1]);
    return {conv1d_steps("Conv1D", with_batch_axis(input), options_.kernel_size, conv(options_.activation)),
            options_.filters};
  }

  Tensor call(std::span<const Tensor> inputs, const LayerCall& call) override {
    return activated_and_penalized(call, options_, [&](Activation activation) {
      return conv1d(inputs[0], kernel_.value(), value_if_any(bias_), conv(activation));
    });
  }

 private:
  Conv1dOptions conv(Activation activation) const {
    return {.stride = options_.strides,
            .padding = options_.padding,
            .dilation = options_.dilation_rate,
            .groups = options_.groups,
            .activation = activation};
  }

  void make_weights(std::span<const Shape> inputs, const LayerSeed& seed) override {
    kernel_ =
        add_kernel(kernel_shape(options_.kernel_size, inputs[0][1] / options_.groups, options_.filters), seed.key(0));
    bias_ = add_bias({options_.filters}, seed.key(1));
  }

  Variable kernel_;
  Variable bias_;
};

}  // namespace

void Conv1DOptions::describe(LayerConfig& config) {
  config.option("filters", filters);
  config.only_size("kernel_size", kernel_size);
  config.only_size("strides", strides);
  config.choice("padding", padding,
                {{"valid", Padding1d::valid}, {"same", Padding1d::same}, {"causal", Padding1d::causal}});
  config.channels_last();
  config.only_size("dilation_rate", dilation_rate);
  config.option("groups", groups);
  config.option("activation", activation);
  config.option("use_bias", use_bias);
  list_kernel_and_bias(config, *this);
}

Conv1D::Conv1D(const Conv1DOptions& options) : Layer(std::make_shared<Conv1DImpl>(options)) {}

}  // namespace lockstep
