#pragma once

#include <cstdint>
#include <string>

#include <lockstep/kernels/matmul/dense.h>
#include <lockstep/models/layers/initializers.h>
#include <lockstep/models/layers/layer.h>

namespace lockstep {

/// Dense's options.
struct DenseOptions {
  ///@{
  /// Keras' arguments, with the same names and defaults. Arguments without a default in Keras are required.
  std::int64_t units = 0;
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

/// activation(x @ kernel + bias), where @ is the matrix product along x's last axis: (..., in) -> (..., units).
/// Weights: kernel (in, units), bias (units).
struct Dense : Layer {
  /// Throws InvalidArgument for units below 1.
  explicit Dense(const DenseOptions& options);
};

}  // namespace lockstep
