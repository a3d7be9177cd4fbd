#pragma once

#include <cstdint>
#include <string>

#include <lockstep/kernels/convolution/conv1d.h>
#include <lockstep/kernels/window/window.h>
#include <lockstep/models/layers/initializers.h>
#include <lockstep/models/layers/layer.h>

namespace lockstep {

/// Conv1D's options.
struct Conv1DOptions {
  ///@{
  /// Keras' arguments, with the same names and defaults. Arguments without a default in Keras are required.
  std::int64_t filters = 0;      ///< required
  std::int64_t kernel_size = 0;  ///< required
  std::int64_t strides = 1;
  Padding1d padding = Padding1d::valid;
  std::int64_t dilation_rate = 1;
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

/// A 1D convolution: (steps, c) -> (steps', filters). Weights: kernel (kernel_size, c / groups, filters), bias
/// (filters).
struct Conv1D : Layer {
  /// Throws InvalidArgument for an integer option below 1, if strides and dilation_rate are both above 1, and unless
  /// filters is a multiple of groups. A call of the layer throws it unless the number of channels is a multiple of
  /// groups.
  explicit Conv1D(const Conv1DOptions& options);
};

/// DepthwiseConv1D's options.
struct DepthwiseConv1DOptions {
  ///@{
  /// Keras' arguments, with the same names and defaults. Arguments without a default in Keras are required.
  std::int64_t kernel_size = 0;  ///< required
  std::int64_t strides = 1;
  Padding padding = Padding::valid;
  std::int64_t depth_multiplier = 1;
  std::int64_t dilation_rate = 1;
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

/// Convolves each channel separately: (steps, c) -> (steps', c * depth_multiplier). Weights: kernel (kernel_size, c,
/// depth_multiplier), bias (c * depth_multiplier).
struct DepthwiseConv1D : Layer {
  /// Throws InvalidArgument for an integer option below 1, and if strides and dilation_rate are both above 1.
  explicit DepthwiseConv1D(const DepthwiseConv1DOptions& options);
};

/// SeparableConv1D's options.
struct SeparableConv1DOptions {
  ///@{
  /// Keras' arguments, with the same names and defaults. Arguments without a default in Keras are required.
  std::int64_t filters = 0;      ///< required
  std::int64_t kernel_size = 0;  ///< required
  std::int64_t strides = 1;
  Padding padding = Padding::valid;
  std::int64_t dilation_rate = 1;
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

/// A depthwise convolution followed by a convolution with kernel size 1: (steps, c) -> (steps', filters). Weights:
/// depthwise_kernel (kernel_size, c, depth_multiplier), pointwise_kernel (1, c * depth_multiplier, filters), bias
/// (filters).
struct SeparableConv1D : Layer {
  /// Throws InvalidArgument for an integer option below 1, and if strides and dilation_rate are both above 1.
  explicit SeparableConv1D(const SeparableConv1DOptions& options);
};

}  // namespace lockstep
