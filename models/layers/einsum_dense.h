#pragma once

#include <string>

#include <lockstep/kernels/activation.h>
#include <lockstep/models/layers/initializers.h>
#include <lockstep/models/layers/layer.h>

namespace lockstep {

/// EinsumDense's options.
struct EinsumDenseOptions {
  /// The axes of the input, the kernel and the result, e.g. "abc,cd->abd". The first letter of the input and of the
  /// result is the batch axis, unless both begin with `...`, which then includes the batch axis. Both may instead end
  /// with `...`. Each letter of the kernel and of the result must also be in another term.
  std::string equation{};
  /// The result's sizes, without the batch axis and the axes of `...`. A size of -1 is taken from the input's axis with
  /// the same letter.
  Shape output_shape{};
  Activation activation = Activation::linear;  ///< applied after the bias is added
  std::string bias_axes{};                     ///< letters of the result's axes that the bias has; no bias if empty
  ///@{
  /// Keras' arguments, with the same names and defaults.
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

/// activation(einsum(equation, x, kernel) + bias). Weights: kernel, with one axis for each letter of its term in the
/// equation; bias, which has the axes of the result from the first axis in `bias_axes` to the last axis; an axis that
/// is not in `bias_axes` has size 1.
struct EinsumDense : Layer {
  /// Throws InvalidArgument for an equation that does not have the form described at EinsumDenseOptions::equation, and
  /// for bias_axes that the result does not have. A call of the layer throws it for inputs and an output_shape that do
  /// not fit the equation.
  explicit EinsumDense(const EinsumDenseOptions& options);
};

}  // namespace lockstep
