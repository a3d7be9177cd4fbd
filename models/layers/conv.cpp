#include "lockstep/models/layers/conv.h"

#include <lockstep/kernels/window/window2d.h>
#include <lockstep/models/layers/kernel_options.h>
#include <lockstep/models/layers/layer_checks.h>
#include <lockstep/models/layers/layer_config.h>
#include <lockstep/models/layers/layer_of.h>

namespace lockstep {
namespace {

class Conv2DImpl final : public LayerOf<Conv2DOptions> {
 public:
  explicit Conv2DImpl(const Conv2DOptions& options)
      : LayerOf("Conv2D", options, {.can_compute_in_bf16 = true, .can_be_captured = true}) {
    check_convolution("Conv2D", options);
    require(options.filters >= 1, "Conv2D needs at least 1 filter, got {}", options.filters);
    require(options.groups >= 1, "Conv2D needs at least 1 group, got {}", options.groups);
    require(options.filters % options.groups == 0,
            "Conv2D needs a number of filters divisible by its {} groups, got {}", options.groups, options.filters);
  }

  Shape output_shape(std::span<const Shape> inputs) const override {
    const Shape& image = only_image("Conv2D", inputs);
    const std::int64_t built_for = is_built() ? kernel_.shape()[2] * options_.groups : image[2];
    require(image[2] == built_for, "Conv2D '{}' was built for {} channels, got {}", name(), built_for, image);
    const Size2d size = slide_window("Conv2D", with_batch_axis(image), options_.kernel_size, options_.strides,
                                     options_.padding, options_.dilation_rate)
                            .output;
    require(image[2] % options_.groups == 0, "Conv2D needs a number of channels divisible by its {} groups, got {}",
            options_.groups, image[2]);
    return {size.height, size.width, options_.filters};
  }

  Tensor call(std::span<const Tensor> inputs, const LayerCall& call) override {
    return activated_and_penalized(call, options_, [&](Activation activation) {
      return conv2d(inputs[0], kernel_.value(), value_if_any(bias_),
                    {.strides = options_.strides,
                     .padding = options_.padding,
                     .dilation = options_.dilation_rate,
                     .groups = options_.groups,
                     .activation = activation});
    });
  }

 private:
  void make_weights(std::span<const Shape> inputs, const LayerSeed& seed) override {
    kernel_ =
        add_kernel(kernel_shape(options_.kernel_size, inputs[0][2] / options_.groups, options_.filters), seed.key(0));
    bias_ = add_bias({options_.filters}, seed.key(1));
  }

  Variable kernel_;
  Variable bias_;
};

}  // namespace

void Conv2DOptions::describe(LayerConfig& config) {
  config.option("filters", filters);
  config.option("kernel_size", kernel_size);
  config.option("strides", strides);
  config.option("padding", padding);
  config.channels_last();
  config.option("dilation_rate", dilation_rate);
  config.option("groups", groups);
  config.option("activation", activation);
  config.option("use_bias", use_bias);
  list_kernel_and_bias(config, *this);
}

Conv2D::Conv2D(const Conv2DOptions& options) : Layer(std::make_shared<Conv2DImpl>(options)) {}

}  // namespace lockstep
