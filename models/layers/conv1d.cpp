#include "lockstep/models/layers/conv1d.h"

#include <lockstep/kernels/array/shapes.h>
#include <lockstep/kernels/convolution/conv2d.h>
#include <lockstep/kernels/window/window2d.h>
#include <lockstep/models/layers/kernel_options.h>
#include <lockstep/models/layers/layer_checks.h>
#include <lockstep/models/layers/layer_config.h>
#include <lockstep/models/layers/layer_of.h>

namespace lockstep {
namespace {

void list(LayerConfig& config, Conv1DOptions& options) {
  config.option("filters", options.filters);
  config.only_size("kernel_size", options.kernel_size);
  config.only_size("strides", options.strides);
  config.choice("padding", options.padding,
                {{"valid", Padding1d::valid}, {"same", Padding1d::same}, {"causal", Padding1d::causal}});
  config.channels_last();
  config.only_size("dilation_rate", options.dilation_rate);
  config.option("groups", options.groups);
  config.option("activation", options.activation);
  config.option("use_bias", options.use_bias);
  list_kernel_and_bias(config, options);
}

class Conv1DImpl final : public LayerOf<Conv1DOptions> {
 public:
  explicit Conv1DImpl(const Conv1DOptions& options)
      : LayerOf("Conv1D", list, options, {.can_compute_in_bf16 = true, .can_be_captured = true}) {
    const auto check = [](const char* what, std::int64_t number) {
      require(number >= 1, "Conv1D needs {} of at least 1, got {}", what, number);
    };
    check("filters", options.filters);
    check("a kernel_size", options.kernel_size);
    check("strides", options.strides);
    check("a dilation_rate", options.dilation_rate);
    check("groups", options.groups);
    require(options.strides == 1 || options.dilation_rate == 1,
            "Conv1D takes strides or a dilation_rate above 1, not both");
    require(options.filters % options.groups == 0,
            "Conv1D needs a number of filters divisible by its {} groups, got {}", options.groups, options.filters);
  }

  Shape output_shape(std::span<const Shape> inputs) const override {
    const Shape& input = only_input(class_name(), inputs);
    require(input.rank() == 2, "Conv1D takes sequences (steps, channels), got {}", input);
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
    kernel_ = add_weight({.name = "kernel",
                          .shape = {options_.kernel_size, inputs[0][1] / options_.groups, options_.filters},
                          .initializer = options_.kernel_initializer(seed.key(0))},
                         options_.kernel_regularizer, options_.kernel_constraint);
    if (options_.use_bias)
      bias_ = add_weight(
          {.name = "bias", .shape = {options_.filters}, .initializer = options_.bias_initializer(seed.key(1))},
          options_.bias_regularizer, options_.bias_constraint);
  }

  Variable kernel_;
  Variable bias_;
};

/// Base of the layers that convolve each channel separately, as images of one row.
template <class Options>
class DepthwiseImpl : public LayerImpl {
 public:
  std::string_view class_name() const override { return class_name_; }

  Shape output_shape(std::span<const Shape> inputs) const override {
    const Shape& input = only_input(class_name_, inputs);
    require(input.rank() == 2, "{} takes sequences (steps, channels), got {}", class_name_, input);
    require(!is_built() || input[1] == depthwise_kernel_.shape()[1], "{} '{}' was built for {} channels, got {}",
            class_name_, name(), is_built() ? depthwise_kernel_.shape()[1] : 0, input);
    const Conv2dOptions window = conv(Activation::linear);
    const Size2d size = slide_window(class_name_, {1, 1, input[0], input[1]}, {1, options_.kernel_size}, window.strides,
                                     window.padding, window.dilation)
                            .output;
    return {size.width, filters(input[1])};
  }

  void describe(LayerConfig& config) const override { write_options(config, list_depthwise<Options>, options_); }

 protected:
  DepthwiseImpl(const char* class_name, const Options& options)
      : LayerImpl(options.name, {.can_compute_in_bf16 = true, .can_be_captured = true}),
        class_name_(class_name),
        options_(options) {
    check_at_least_1("a kernel_size", options.kernel_size);
    check_at_least_1("strides", options.strides);
    check_at_least_1("a dilation_rate", options.dilation_rate);
    check_at_least_1("a depth_multiplier", options.depth_multiplier);
    require(options.strides == 1 || options.dilation_rate == 1, "{} takes strides or a dilation_rate above 1, not both",
            class_name);
  }

  void check_at_least_1(const char* what, std::int64_t number) const {
    require(number >= 1, "{} needs {} of at least 1, got {}", class_name_, what, number);
  }

  /// Number of output channels.
  virtual std::int64_t filters(std::int64_t channels) const = 0;

  const Options& options() const { return options_; }
  const Variable& bias() const { return bias_; }

  /// The convolution of sequences, as images of one row.
  Tensor depthwise(const Tensor& x, const Tensor& bias, Activation activation) const {
    return depthwise_conv2d(as_images(x), expand_dims(depthwise_kernel_.value(), 0), bias, conv(activation));
  }

  void make_depthwise_kernel(const char* name, std::int64_t channels, const LayerSeed& seed) {
    depthwise_kernel_ = add_weight({.name = name,
                                    .shape = {options_.kernel_size, channels, options_.depth_multiplier},
                                    .initializer = options_.depthwise_initializer(seed.key(0))},
                                   options_.depthwise_regularizer, options_.depthwise_constraint);
  }

  void make_bias(std::int64_t channels, const RandomKey& key) {
    if (options_.use_bias)
      bias_ = add_weight({.name = "bias", .shape = {filters(channels)}, .initializer = options_.bias_initializer(key)},
                         options_.bias_regularizer, options_.bias_constraint);
  }

 private:
  Conv2dOptions conv(Activation activation) const {
    return {.strides = {1, options_.strides},
            .padding = options_.padding,
            .dilation = {1, options_.dilation_rate},
            .activation = activation};
  }

  const char* class_name_;
  Options options_;
  Variable depthwise_kernel_;
  Variable bias_;
};

class DepthwiseConv1DImpl final : public DepthwiseImpl<DepthwiseConv1DOptions> {
 public:
  explicit DepthwiseConv1DImpl(const DepthwiseConv1DOptions& options) : DepthwiseImpl("DepthwiseConv1D", options) {}

  Tensor call(std::span<const Tensor> inputs, const LayerCall& call) override {
    return activated_and_penalized(call, options(), [&](Activation activation) {
      return squeeze(depthwise(inputs[0], value_if_any(bias()), activation), {1});
    });
  }

 private:
  std::int64_t filters(std::int64_t channels) const override { return channels * options().depth_multiplier; }

  void make_weights(std::span<const Shape> inputs, const LayerSeed& seed) override {
    make_depthwise_kernel("kernel", inputs[0][1], seed);
    make_bias(inputs[0][1], seed.key(1));
  }
};

class SeparableConv1DImpl final : public DepthwiseImpl<SeparableConv1DOptions> {
 public:
  explicit SeparableConv1DImpl(const SeparableConv1DOptions& options) : DepthwiseImpl("SeparableConv1D", options) {
    check_at_least_1("filters", options.filters);
  }

  Tensor call(std::span<const Tensor> inputs, const LayerCall& call) override {
    const Tensor by_channel = depthwise(inputs[0], {}, Activation::linear);
    return activated_and_penalized(call, options(), [&](Activation activation) {
      const Tensor pointwise = expand_dims(pointwise_kernel_.value(), 0);
      return squeeze(conv2d(by_channel, pointwise, value_if_any(bias()), {.activation = activation}), {1});
    });
  }

 private:
  std::int64_t filters(std::int64_t) const override { return options().filters; }

  void make_weights(std::span<const Shape> inputs, const LayerSeed& seed) override {
    const std::int64_t channels = inputs[0][1];
    make_depthwise_kernel("depthwise_kernel", channels, seed);
    pointwise_kernel_ = add_weight({.name = "pointwise_kernel",
                                    .shape = {1, channels * options().depth_multiplier, options().filters},
                                    .initializer = options().pointwise_initializer(seed.key(1))},
                                   options().pointwise_regularizer, options().pointwise_constraint);
    make_bias(channels, seed.key(2));
  }

  Variable pointwise_kernel_;
};

}  // namespace

Conv1D::Conv1D(const Conv1DOptions& options) : Layer(std::make_shared<Conv1DImpl>(options)) {}

Conv1D Conv1D::from_config(LayerConfig& config) { return Conv1D(read_options<Conv1DOptions>(config, list)); }

DepthwiseConv1D::DepthwiseConv1D(const DepthwiseConv1DOptions& options)
    : Layer(std::make_shared<DepthwiseConv1DImpl>(options)) {}

DepthwiseConv1D DepthwiseConv1D::from_config(LayerConfig& config) {
  return DepthwiseConv1D(read_options(config, list_depthwise<DepthwiseConv1DOptions>));
}

SeparableConv1D::SeparableConv1D(const SeparableConv1DOptions& options)
    : Layer(std::make_shared<SeparableConv1DImpl>(options)) {}

SeparableConv1D SeparableConv1D::from_config(LayerConfig& config) {
  return SeparableConv1D(read_options(config, list_depthwise<SeparableConv1DOptions>));
}

}  // namespace lockstep
