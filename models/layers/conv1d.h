#pragma once

#include <cstdint>
#include <string>

#include <lockstep/kernels/convolution/conv1d.h>
#include <lockstep/models/layers/initializers.h>
#include <lockstep/models/layers/layer.h>

namespace lockstep {

/// Conv1D's options.
struct Conv1DOptions {
  ///@{
  /// Keras' arguments of these names, with its defaults where it has any.
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
  Constraint kernel_constraint{};
  Constraint bias_constraint{};
  std::string name{};
  ///@}
};

/// A 1D convolution: (steps, c) -> (steps', filters). Weights: kernel (kernel_size, c / groups, filters), bias
/// (filters).
struct Conv1D : Layer {
  /// Throws InvalidArgument for a size below 1, and for strides and a dilation_rate that are both larger than 1.
  explicit Conv1D(const Conv1DOptions& options);
  /// Makes the layer from the options in a file.
  static Conv1D from_config(LayerConfig& config);
};

}  // namespace lockstep
