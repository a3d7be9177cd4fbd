#pragma once

#include <optional>

#include <lockstep/kernels/activation.h>
#include <lockstep/kernels/elementwise/unary_function.h>
#include <lockstep/runtime/tensor/tensor.h>

// Activations that the kernels of dense and conv2d take as an argument.

namespace lockstep {

/// Whether the kernels of dense and conv2d take this activation: linear, relu, relu6, leaky_relu, elu, selu,
/// sigmoid, tanh and exponential. Their gradients need only the result.
bool is_fusable(Activation activation);

/// The element-wise function of an activation; nothing for linear, softmax and log_softmax.
std::optional<UnaryFunction> function_of(Activation activation);

/// Returns the gradient with respect to the input of a fusable activation, computed from the activation's dense result
/// y (not read for linear) and the gradient dy of y. The gradient is dense; for linear, it is dy itself if dy is dense.
/// Differentiable. Precondition: is_fusable(activation), and y and dy have the same shape and dtype.
Tensor before_activation(Activation activation, const Tensor& y, const Tensor& dy);

}  // namespace lockstep
