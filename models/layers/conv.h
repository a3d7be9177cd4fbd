#pragma once

#include <cstdint>
#include <string>

#include <lockstep/kernels/convolution/conv2d.h>
#include <lockstep/models/layers/initializers.h>
#include <lockstep/models/layers/layer.h>

namespace lockstep {

/// Conv2D's options.
struct Conv2DOptions {
  ///@{
  /// Keras' arguments, with the same names and defaults. Arguments without a default in Keras are required.
  std::int64_t filters = 0;  ///< required
  Size2d kernel_size{};      ///< required
  Size2d strides = 1;
  Padding padding = Padding::valid;
  Size2d dilation_rate = 1;
  std::int64_t groups = 1;
  Activation activation = Activation::linear;
  bool use_bias = true;
  SeededInitializer kernel_initializer = glorot_uniform;
  SeededInitializer bias_initializer = zeros;
  Regularizer kernel_regularizer{};
  Regularizer bias_regularizer{};
  Regularizer activity_regularizer{};
  Constraint kernel_constraint{};
  Constraint bias_constraint{};
  std::string name{};
  ///@}
  void describe(LayerConfig& config);  ///< writes or reads the options
};

/// A 2D convolution: (h, w, c) -> (h', w', filters). Weights: kernel (k_h, k_w, c / groups, filters), bias (filters).
struct Conv2D : Layer {
  /// Throws InvalidArgument for filters, groups or a size below 1, if strides and dilation_rate both have a size above
  /// 1, and unless filters is a multiple of groups. A call of the layer throws it unless the number of channels is a
  /// multiple of groups.
  explicit Conv2D(const Conv2DOptions& options);
};

/// DepthwiseConv2D's options.
struct DepthwiseConv2DOptions {
  ///@{
  /// Keras' arguments, with the same names and defaults. Arguments without a default in Keras are required.
  Size2d kernel_size{};  ///< required
  Size2d strides = 1;
  Padding padding = Padding::valid;
  std::int64_t depth_multiplier = 1;
  Size2d dilation_rate = 1;
  Activation activation = Activation::linear;
  bool use_bias = true;
  SeededInitializer depthwise_initializer = glorot_uniform;
  SeededInitializer bias_initializer = zeros;
  Regularizer depthwise_regularizer{};
  Regularizer bias_regularizer{};
  Regularizer activity_regularizer{};
  Constraint depthwise_constraint{};
  Constraint bias_constraint{};
  std::string name{};
  ///@}
  void describe(LayerConfig& config);  ///< writes or reads the options
};

/// Convolves each channel separately: (h, w, c) -> (h', w', c * depth_multiplier). Weights: kernel (k_h, k_w, c,
/// depth_multiplier), bias (c * depth_multiplier).
struct DepthwiseConv2D : Layer {
  /// Throws InvalidArgument for depth_multiplier or a size below 1, and if strides and dilation_rate both have a size
  /// above 1.
  explicit DepthwiseConv2D(const DepthwiseConv2DOptions& options);
};

/// SeparableConv2D's options.
struct SeparableConv2DOptions {
  ///@{
  /// Keras' arguments, with the same names and defaults. Arguments without a default in Keras are required.
  std::int64_t filters = 0;  ///< required
  Size2d kernel_size{};      ///< required
  Size2d strides = 1;
  Padding padding = Padding::valid;
  Size2d dilation_rate = 1;
  std::int64_t depth_multiplier = 1;
  Activation activation = Activation::linear;
  bool use_bias = true;
  SeededInitializer depthwise_initializer = glorot_uniform;
  SeededInitializer pointwise_initializer = glorot_uniform;
  SeededInitializer bias_initializer = zeros;
  Regularizer depthwise_regularizer{};
  Regularizer pointwise_regularizer{};
  Regularizer bias_regularizer{};
  Regularizer activity_regularizer{};
  Constraint depthwise_constraint{};
  Constraint pointwise_constraint{};
  Constraint bias_constraint{};
  std::string name{};
  ///@}
  void describe(LayerConfig& config);  ///< writes or reads the options
};

/// A depthwise convolution followed by a 1 x 1 convolution: (h, w, c) -> (h', w', filters) (Chollet 2017). Weights:
/// depthwise_kernel (k_h, k_w, c, depth_multiplier), pointwise_kernel (1, 1, c * depth_multiplier, filters), bias
/// (filters).
struct SeparableConv2D : Layer {
  /// Throws InvalidArgument for filters, depth_multiplier or a size below 1, and if strides and dilation_rate both have
  /// a size above 1.
  explicit SeparableConv2D(const SeparableConv2DOptions& options);
};

}  // namespace lockstep
