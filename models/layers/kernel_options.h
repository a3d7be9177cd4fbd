#pragma once

#include <lockstep/models/layers/layer_config.h>

// Functions that write or read options shared by several layers with kernels, in Keras' order.

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
  config.fixed("data_format", "channels_last");
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
  // Keras 2 also writes the options of the convolution that a class derives from.
  config.passed_over("groups");
  if constexpr (is_separable)
    for (const char* key : {"kernel_initializer", "kernel_regularizer", "kernel_constraint"}) config.passed_over(key);
}

}  // namespace lockstep
