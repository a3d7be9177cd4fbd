#include "lockstep/models/layers/conv.h"

#include <utility>

#include <lockstep/kernels/window/window2d.h>
#include <lockstep/models/layers/kernel_options.h>
#include <lockstep/models/layers/layer_checks.h>
#include <lockstep/models/layers/layer_config.h>

namespace lockstep {
namespace {

void list(LayerConfig& config, Conv2DOptions& options) {
  config.option("filters", options.filters);
  config.option("kernel_size", options.kernel_size);
  config.option("strides", options.strides);
  config.option("padding", options.padding);
  config.channels_last();
  config.option("dilation_rate", options.dilation_rate);
  config.option("groups", options.groups);
  config.option("activation", options.activation);
  config.option("use_bias", options.use_bias);
  list_kernel_and_bias(config, options);
}

/// Base of the convolution layers.
class ConvImpl : public LayerImpl {
 public:
  std::string_view class_name() const override { return class_name_; }

  Shape output_shape(std::span<const Shape> inputs) const override {
    const Shape& image = only_image(class_name_, inputs);
    require(!is_built() || image[2] == channels_, "{} '{}' was built for {} channels, got {}", class_name_, name(),
            channels_, image);
    const Size2d size =
        slide_window(class_name_, with_batch_axis(image), kernel_size_, conv_.strides, conv_.padding, conv_.dilation)
            .output;
    return {size.height, size.width, filters(image[2])};
  }

 protected:
  ConvImpl(const char* class_name, std::string name, Size2d kernel_size, const Conv2dOptions& conv)
      : LayerImpl(std::move(name), {.can_compute_in_bf16 = true, .can_be_captured = true}),
        class_name_(class_name),
        kernel_size_(kernel_size),
        conv_(conv) {
    const auto check = [&](const char* what, Size2d size) {
      require(size.height >= 1 && size.width >= 1, "{} needs {} of at least 1, got ({}, {})", class_name, what,
              size.height, size.width);
    };
    require(kernel_size.height != 0 || kernel_size.width != 0, "{} needs a kernel_size", class_name);
    check("a kernel_size", kernel_size);
    check("strides", conv.strides);
    check("a dilation_rate", conv.dilation);
    const bool strided = conv.strides.height > 1 || conv.strides.width > 1;
    const bool dilated = conv.dilation.height > 1 || conv.dilation.width > 1;
    require(!strided || !dilated, "{} takes strides or a dilation_rate above 1, not both", class_name);
  }

  void check_at_least_1(const char* what, std::int64_t number) const {
    require(number >= 1, "{} needs at least 1 {}, got {}", class_name_, what, number);
  }

  /// Number of output channels.
  virtual std::int64_t filters(std::int64_t channels) const = 0;
  virtual void make_conv_weights(std::int64_t channels, const LayerSeed& seed) = 0;

  Size2d kernel_size() const { return kernel_size_; }
  Conv2dOptions conv(Activation activation) const {
    Conv2dOptions options = conv_;
    options.activation = activation;
    return options;
  }

 private:
  void make_weights(std::span<const Shape> inputs, const LayerSeed& seed) override {
    channels_ = inputs[0][2];
    make_conv_weights(channels_, seed);
  }

  const char* class_name_;
  Size2d kernel_size_;
  Conv2dOptions conv_;
  std::int64_t channels_ = 0;  ///< input channels that the weights were built for
};

class Conv2DImpl final : public ConvImpl {
 public:
  explicit Conv2DImpl(const Conv2DOptions& options)
      : ConvImpl("Conv2D", options.name, options.kernel_size,
                 {.strides = options.strides,
                  .padding = options.padding,
                  .dilation = options.dilation_rate,
                  .groups = options.groups,
                  .activation = options.activation}),
        options_(options) {
    check_at_least_1("filter", options.filters);
    check_at_least_1("group", options.groups);
    require(options.filters % options.groups == 0,
            "Conv2D needs a number of filters divisible by its {} groups, got {}", options.groups, options.filters);
  }

  Tensor call(std::span<const Tensor> inputs, const LayerCall& call) override {
    return activated_and_penalized(call, options_, [&](Activation activation) {
      return conv2d(inputs[0], kernel_.value(), value_if_any(bias_), conv(activation));
    });
  }

  void describe(LayerConfig& config) const override { write_options(config, list, options_); }

 private:
  std::int64_t filters(std::int64_t channels) const override {
    require(channels % options_.groups == 0, "Conv2D needs a number of channels divisible by its {} groups, got {}",
            options_.groups, channels);
    return options_.filters;
  }

  void make_conv_weights(std::int64_t channels, const LayerSeed& seed) override {
    kernel_ =
        add_weight({.name = "kernel",
                    .shape = {kernel_size().height, kernel_size().width, channels / options_.groups, options_.filters},
                    .initializer = options_.kernel_initializer(seed.key(0))},
                   options_.kernel_regularizer, options_.kernel_constraint);
    if (options_.use_bias)
      bias_ = add_weight(
          {.name = "bias", .shape = {options_.filters}, .initializer = options_.bias_initializer(seed.key(1))},
          options_.bias_regularizer, options_.bias_constraint);
  }

  Conv2DOptions options_;
  Variable kernel_;
  Variable bias_;
};

class DepthwiseConv2DImpl final : public ConvImpl {
 public:
  explicit DepthwiseConv2DImpl(const DepthwiseConv2DOptions& options)
      : ConvImpl("DepthwiseConv2D", options.name, options.kernel_size,
                 {.strides = options.strides,
                  .padding = options.padding,
                  .dilation = options.dilation_rate,
                  .activation = options.activation}),
        options_(options) {
    check_at_least_1("depth_multiplier", options.depth_multiplier);
  }

  Tensor call(std::span<const Tensor> inputs, const LayerCall& call) override {
    return activated_and_penalized(call, options_, [&](Activation activation) {
      return depthwise_conv2d(inputs[0], kernel_.value(), value_if_any(bias_), conv(activation));
    });
  }

  void describe(LayerConfig& config) const override {
    write_options(config, list_depthwise<DepthwiseConv2DOptions>, options_);
  }

 private:
  std::int64_t filters(std::int64_t channels) const override { return channels * options_.depth_multiplier; }

  void make_conv_weights(std::int64_t channels, const LayerSeed& seed) override {
    kernel_ = add_weight({.name = "kernel",
                          .shape = {kernel_size().height, kernel_size().width, channels, options_.depth_multiplier},
                          .initializer = options_.depthwise_initializer(seed.key(0))},
                         options_.depthwise_regularizer, options_.depthwise_constraint);
    if (options_.use_bias)
      bias_ = add_weight(
          {.name = "bias", .shape = {filters(channels)}, .initializer = options_.bias_initializer(seed.key(1))},
          options_.bias_regularizer, options_.bias_constraint);
  }

  DepthwiseConv2DOptions options_;
  Variable kernel_;
  Variable bias_;
};

class SeparableConv2DImpl final : public ConvImpl {
 public:
  explicit SeparableConv2DImpl(const SeparableConv2DOptions& options)
      : ConvImpl("SeparableConv2D", options.name, options.kernel_size,
                 {.strides = options.strides,
                  .padding = options.padding,
                  .dilation = options.dilation_rate,
                  .activation = options.activation}),
        options_(options) {
    check_at_least_1("filter", options.filters);
    check_at_least_1("depth_multiplier", options.depth_multiplier);
  }

  Tensor call(std::span<const Tensor> inputs, const LayerCall& call) override {
    const Tensor by_channel = depthwise_conv2d(inputs[0], depthwise_kernel_.value(), {}, conv(Activation::linear));
    return activated_and_penalized(call, options_, [&](Activation activation) {
      return conv2d(by_channel, pointwise_kernel_.value(), value_if_any(bias_), {.activation = activation});
    });
  }

  void describe(LayerConfig& config) const override {
    write_options(config, list_depthwise<SeparableConv2DOptions>, options_);
  }

 private:
  std::int64_t filters(std::int64_t) const override { return options_.filters; }

  void make_conv_weights(std::int64_t channels, const LayerSeed& seed) override {
    depthwise_kernel_ =
        add_weight({.name = "depthwise_kernel",
                    .shape = {kernel_size().height, kernel_size().width, channels, options_.depth_multiplier},
                    .initializer = options_.depthwise_initializer(seed.key(0))},
                   options_.depthwise_regularizer, options_.depthwise_constraint);
    pointwise_kernel_ = add_weight({.name = "pointwise_kernel",
                                    .shape = {1, 1, channels * options_.depth_multiplier, options_.filters},
                                    .initializer = options_.pointwise_initializer(seed.key(1))},
                                   options_.pointwise_regularizer, options_.pointwise_constraint);
    if (options_.use_bias)
      bias_ = add_weight(
          {.name = "bias", .shape = {options_.filters}, .initializer = options_.bias_initializer(seed.key(2))},
          options_.bias_regularizer, options_.bias_constraint);
  }

  SeparableConv2DOptions options_;
  Variable depthwise_kernel_;
  Variable pointwise_kernel_;
  Variable bias_;
};

}  // namespace

Conv2D::Conv2D(const Conv2DOptions& options) : Layer(std::make_shared<Conv2DImpl>(options)) {}

Conv2D Conv2D::from_config(LayerConfig& config) { return Conv2D(read_options<Conv2DOptions>(config, list)); }

DepthwiseConv2D::DepthwiseConv2D(const DepthwiseConv2DOptions& options)
    : Layer(std::make_shared<DepthwiseConv2DImpl>(options)) {}

DepthwiseConv2D DepthwiseConv2D::from_config(LayerConfig& config) {
  return DepthwiseConv2D(read_options(config, list_depthwise<DepthwiseConv2DOptions>));
}

SeparableConv2D::SeparableConv2D(const SeparableConv2DOptions& options)
    : Layer(std::make_shared<SeparableConv2DImpl>(options)) {}

SeparableConv2D SeparableConv2D::from_config(LayerConfig& config) {
  return SeparableConv2D(read_options(config, list_depthwise<SeparableConv2DOptions>));
}

}  // namespace lockstep
