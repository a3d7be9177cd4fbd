#pragma once

#include <lockstep/kernels/op_kinds.h>
#include <lockstep/runtime/tensor/tensor.h>

// Activation functions as Keras defines them, of every element of an f32 tensor. All are differentiable.

namespace lockstep {

Tensor relu(const Tensor& x);
Tensor relu6(const Tensor& x);
/// x, or negative_slope * x below 0. Throws InvalidArgument for a negative slope.
Tensor leaky_relu(const Tensor& x, double negative_slope = 0.2);
/// x, or alpha * (exp(x) - 1) below 0. Throws InvalidArgument for a negative alpha.
Tensor elu(const Tensor& x, double alpha = 1);
Tensor selu(const Tensor& x);
/// x times the normal distribution function, exactly or by tanh.
Tensor gelu(const Tensor& x, bool approximate = false);
Tensor sigmoid(const Tensor& x);
/// x * sigmoid(x), also called swish.
Tensor silu(const Tensor& x);
Tensor softplus(const Tensor& x);
Tensor softsign(const Tensor& x);
Tensor tanh(const Tensor& x);

/// Softmax over the last axis, and its logarithm.
Tensor softmax(const Tensor& logits);
Tensor log_softmax(const Tensor& logits);

/// Any of them by name.
Tensor activate(const Tensor& x, Activation activation);

}  // namespace lockstep
