#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <lockstep/kernels/activation.h>
#include <lockstep/kernels/window/window.h>
#include <lockstep/models/layers/initializers.h>
#include <lockstep/models/layers/layer.h>

// Transposed convolutions. Their constructors throw InvalidArgument for a number of filters or a size below 1, for an
// output_padding that is negative or not below the strides, and if strides and dilation_rate both have a size above 1.

namespace lockstep {

/// Conv2DTranspose's options.
struct Conv2DTransposeOptions {
  ///@{
  /// Keras' arguments, with the same names and defaults. Arguments without a default in Keras are required.
  std::int64_t filters = 0;  ///< required
  Size2d kernel_size{};      ///< required
  Size2d strides = 1;
  Padding padding = Padding::valid;
  std::optional<Size2d> output_padding{};
  Size2d dilation_rate = 1;
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

/// A transposed 2D convolution (conv2d_transpose): (h, w, c) -> (h', w', filters). Weights: kernel (k_h, k_w, filters,
/// c), bias (filters).
struct Conv2DTranspose : Layer {
  /// Throws InvalidArgument in the cases listed at the top of this file.
  explicit Conv2DTranspose(const Conv2DTransposeOptions& options);
};

/// Conv1DTranspose's options.
struct Conv1DTransposeOptions {
  ///@{
  /// Keras' arguments, with the same names and defaults. Arguments without a default in Keras are required.
  std::int64_t filters = 0;      ///< required
  std::int64_t kernel_size = 0;  ///< required
  std::int64_t strides = 1;
  Padding padding = Padding::valid;
  std::optional<std::int64_t> output_padding{};
  std::int64_t dilation_rate = 1;
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

/// A transposed 1D convolution (conv1d_transpose): (steps, c) -> (steps', filters). Weights:
/// kernel (k, filters, c), bias (filters).
struct Conv1DTranspose : Layer {
  /// Throws InvalidArgument in the cases listed at the top of this file.
  explicit Conv1DTranspose(const Conv1DTransposeOptions& options);
};

}  // namespace lockstep
