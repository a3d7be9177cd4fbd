#include <type_traits>

#include <lockstep/kernels/array/shapes.h>
#include <lockstep/kernels/convolution/conv2d.h>
#include <lockstep/kernels/window/window2d.h>
#include <lockstep/models/layers/conv.h>
#include <lockstep/models/layers/conv1d.h>
#include <lockstep/models/layers/kernel_options.h>
#include <lockstep/models/layers/layer_checks.h>
#include <lockstep/models/layers/layer_config.h>
#include <lockstep/models/layers/layer_of.h>

namespace lockstep {
namespace {

/// A convolution of each channel separately and, with the options of a separable convolution, one of kernel size 1.
/// Sequences are convolved as images of one row.
template <class Options>
class DepthwiseConvImpl final : public LayerOf<Options> {
 public:
  DepthwiseConvImpl(const char* class_name, const Options& options)
      : LayerOf<Options>(class_name, options, {.can_compute_in_bf16 = true, .can_be_captured = true}) {
    check_convolution(class_name, options);
    if constexpr (is_separable) check_count("filters", "filter", options.filters);
    check_count("a depth_multiplier", "depth_multiplier", options.depth_multiplier);
  }

  Shape output_shape(std::span<const Shape> inputs) const override {
    const Shape& input = is_1d ? only_steps(class_name_, inputs) : only_image(class_name_, inputs);
    const std::int64_t channels = input.dim(-1);
    const std::int64_t built_for = this->is_built() ? kernel_.shape().dim(-2) : channels;
    require(channels == built_for, "{} '{}' was built for {} channels, got {}", class_name_, this->name(), built_for,
            input);
    const Conv2dOptions window = conv(Activation::linear);
    const Size2d size = slide_window(class_name_, as_images(input), for_images(options_.kernel_size), window.strides,
                                     window.padding, window.dilation)
                            .output;
    return is_1d ? Shape{size.width, filters(channels)} : Shape{size.height, size.width, filters(channels)};
  }

  Tensor call(std::span<const Tensor> inputs, const LayerCall& call) override {
    const auto with_rows = [](const Variable& kernel) {
      return is_1d ? expand_dims(kernel.value(), 0) : kernel.value();
    };
    const Tensor x = is_1d ? as_images(inputs[0]) : inputs[0];
    Tensor by_channel;
    if (is_separable) by_channel = depthwise_conv2d(x, with_rows(kernel_), {}, conv(Activation::linear));
    return activated_and_penalized(call, options_, [&](Activation activation) {
      const Tensor bias = this->value_if_any(bias_);
      const Tensor y = is_separable ? conv2d(by_channel, with_rows(pointwise_kernel_), bias, {.activation = activation})
                                    : depthwise_conv2d(x, with_rows(kernel_), bias, conv(activation));
      return is_1d ? squeeze(y, {1}) : y;
    });
  }

 private:
  using LayerOf<Options>::class_name_;
  using LayerOf<Options>::options_;
  using Size = decltype(Options::kernel_size);

  static constexpr bool is_1d = std::is_same_v<Size, std::int64_t>;
  static constexpr bool is_separable = requires(Options options) { options.pointwise_initializer; };

  /// Throws InvalidArgument for a number below 1, which is called `what_1d` in layers for sequences.
  void check_count(const char* what_1d, const char* what_2d, std::int64_t number) const {
    if (is_1d) return check_size(class_name_, what_1d, number);
    require(number >= 1, "{} needs at least 1 {}, got {}", class_name_, what_2d, number);
  }

  /// Number of output channels.
  std::int64_t filters(std::int64_t channels) const {
    if constexpr (is_separable)
      return options_.filters;
    else
      return channels * options_.depth_multiplier;
  }

  Conv2dOptions conv(Activation activation) const {
    return {.strides = for_images(options_.strides),
            .padding = options_.padding,
            .dilation = for_images(options_.dilation_rate),
            .activation = activation};
  }

  void make_weights(std::span<const Shape> inputs, const LayerSeed& seed) override {
    const std::int64_t channels = inputs[0].dim(-1);
    kernel_ = this->add_weight({.name = is_separable ? "depthwise_kernel" : "kernel",
                                .shape = kernel_shape(options_.kernel_size, channels, options_.depth_multiplier),
                                .initializer = options_.depthwise_initializer(seed.key(0))},
                               options_.depthwise_regularizer, options_.depthwise_constraint);
    if constexpr (is_separable)
      pointwise_kernel_ =
          this->add_weight({.name = "pointwise_kernel",
                            .shape = kernel_shape(Size(1), channels * options_.depth_multiplier, options_.filters),
                            .initializer = options_.pointwise_initializer(seed.key(1))},
                           options_.pointwise_regularizer, options_.pointwise_constraint);
    bias_ = this->add_bias({filters(channels)}, seed.key(is_separable ? 2 : 1));
  }

  Variable kernel_;
  Variable pointwise_kernel_;  ///< only of a separable convolution
  Variable bias_;
};

}  // namespace

void DepthwiseConv2DOptions::describe(LayerConfig& config) { list_depthwise(config, *this); }

void SeparableConv2DOptions::describe(LayerConfig& config) { list_depthwise(config, *this); }

void DepthwiseConv1DOptions::describe(LayerConfig& config) { list_depthwise(config, *this); }

void SeparableConv1DOptions::describe(LayerConfig& config) { list_depthwise(config, *this); }

DepthwiseConv2D::DepthwiseConv2D(const DepthwiseConv2DOptions& options)
    : Layer(std::make_shared<DepthwiseConvImpl<DepthwiseConv2DOptions>>("DepthwiseConv2D", options)) {}

SeparableConv2D::SeparableConv2D(const SeparableConv2DOptions& options)
    : Layer(std::make_shared<DepthwiseConvImpl<SeparableConv2DOptions>>("SeparableConv2D", options)) {}

DepthwiseConv1D::DepthwiseConv1D(const DepthwiseConv1DOptions& options)
    : Layer(std::make_shared<DepthwiseConvImpl<DepthwiseConv1DOptions>>("DepthwiseConv1D", options)) {}

SeparableConv1D::SeparableConv1D(const SeparableConv1DOptions& options)
    : Layer(std::make_shared<DepthwiseConvImpl<SeparableConv1DOptions>>("SeparableConv1D", options)) {}

}  // namespace lockstep
