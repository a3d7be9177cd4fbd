#pragma once

#include <cstdint>
#include <span>
#include <type_traits>

#include <lockstep/models/layers/layer_checks.h>
#include <lockstep/models/layers/layer_config.h>

// Functions that write or read, in Keras' order, the options that several layers with kernels share; and checks of
// convolutions.

namespace lockstep {

/// Writes or reads a size along one axis, or along both axes of an image.
template <class Size>
void list_size(LayerConfig& config, const char* key, Size& size) {
  if constexpr (requires { config.only_size(key, size); })
    config.only_size(key, size);
  else
    config.option(key, size);
}

/// Writes or reads the options of a kernel and a bias.
template <class Options>
void list_kernel_and_bias(LayerConfig& config, Options& options) {
  config.option("kernel_initializer", options.kernel_initializer);
  config.option("bias_initializer", options.bias_initializer);
  config.option("kernel_regularizer", options.kernel_regularizer);
  config.option("bias_regularizer", options.bias_regularizer);
  if constexpr (requires { options.activity_regularizer; })
    config.option("activity_regularizer", options.activity_regularizer);
  else
    config.fixed_null("activity_regularizer");
  config.option("kernel_constraint", options.kernel_constraint);
  config.option("bias_constraint", options.bias_constraint);
}

/// Writes or reads the options of a depthwise or separable convolution, in one or two dimensions.
template <class Options>
void list_depthwise(LayerConfig& config, Options& options) {
  constexpr bool is_separable = requires { options.pointwise_initializer; };
  config.option("depth_multiplier", options.depth_multiplier);
  if constexpr (is_separable) config.option("filters", options.filters);
  list_size(config, "kernel_size", options.kernel_size);
  list_size(config, "strides", options.strides);
  config.option("padding", options.padding);
  config.channels_last();
  list_size(config, "dilation_rate", options.dilation_rate);
  config.option("activation", options.activation);
  config.option("use_bias", options.use_bias);
  config.option("depthwise_initializer", options.depthwise_initializer);
  if constexpr (is_separable) config.option("pointwise_initializer", options.pointwise_initializer);
  config.option("bias_initializer", options.bias_initializer);
  config.option("depthwise_regularizer", options.depthwise_regularizer);
  if constexpr (is_separable) config.option("pointwise_regularizer", options.pointwise_regularizer);
  config.option("bias_regularizer", options.bias_regularizer);
  config.option("activity_regularizer", options.activity_regularizer);
  config.option("depthwise_constraint", options.depthwise_constraint);
  if constexpr (is_separable) config.option("pointwise_constraint", options.pointwise_constraint);
  config.option("bias_constraint", options.bias_constraint);
  // Keras 2 also writes the options of the base class, a plain convolution.
  config.passed_over("groups");
  if constexpr (is_separable)
    for (const char* key : {"kernel_initializer", "kernel_regularizer", "kernel_constraint"}) config.passed_over(key);
}

/// Throws InvalidArgument for a kernel_size, strides or dilation_rate below 1, and if strides and dilation_rate both
/// have a size above 1.
template <class Options>
void check_convolution(const char* layer, const Options& options) {
  if constexpr (std::is_same_v<decltype(options.kernel_size), Size2d>)
    require(options.kernel_size.height != 0 || options.kernel_size.width != 0, "{} needs a kernel_size", layer);
  check_size(layer, "a kernel_size", options.kernel_size);
  check_size(layer, "strides", options.strides);
  check_size(layer, "a dilation_rate", options.dilation_rate);
  const Size2d strides = for_images(options.strides);
  const Size2d dilation = for_images(options.dilation_rate);
  require((strides.height == 1 && strides.width == 1) || (dilation.height == 1 && dilation.width == 1),
          "{} takes strides or a dilation_rate above 1, not both", layer);
}

/// Like only_sequence, but the message says (steps, channels).
inline const Shape& only_steps(const char* layer, std::span<const Shape> inputs) {
  const Shape& input = only_input(layer, inputs);
  require(input.rank() == 2, "{} takes sequences (steps, channels), got {}", layer, input);
  return input;
}

///@{
/// The shape of a kernel of this size from `from` to `to` channels.
inline Shape kernel_shape(Size2d size, std::int64_t from, std::int64_t to) {
  return {size.height, size.width, from, to};
}
inline Shape kernel_shape(std::int64_t size, std::int64_t from, std::int64_t to) { return {size, from, to}; }
///@}

}  // namespace lockstep
