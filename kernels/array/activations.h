#pragma once

#include <lockstep/kernels/activation.h>
#include <lockstep/runtime/tensor/tensor.h>

// Activation functions as Keras defines them, of every element of a tensor of f32 or bf16 (softmax and log_softmax:
// f32). All are differentiable.

namespace lockstep {

/// max(0, x). NaN stays NaN; the gradient at 0 is 0.
Tensor relu(const Tensor& x);
/// min(max(0, x), 6).
Tensor relu6(const Tensor& x);
/// x, or negative_slope * x below 0. Throws InvalidArgument for a negative slope.
Tensor leaky_relu(const Tensor& x, double negative_slope = 0.2);
/// x, or alpha * (exp(x) - 1) below 0. Throws InvalidArgument for a negative alpha.
Tensor elu(const Tensor& x, double alpha = 1);
/// 1.0507 * x, or 1.0507 * 1.6733 * (exp(x) - 1) below 0 (Klambauer et al. 2017).
Tensor selu(const Tensor& x);
/// x times the normal distribution function, exactly or by tanh (Hendrycks and Gimpel 2016).
Tensor gelu(const Tensor& x, bool approximate = false);
/// 1 / (1 + exp(-x)). The result keeps x (Tensor::origin) for losses, which need it where the result is 0 or 1.
Tensor sigmoid(const Tensor& x);
/// x / 6 + 0.5, but not below 0 nor above 1.
Tensor hard_sigmoid(const Tensor& x);
/// x * sigmoid(x) (Elfwing et al. 2017), also called swish.
Tensor silu(const Tensor& x);
/// log(1 + exp(x)), in a form that no x overflows.
Tensor softplus(const Tensor& x);
/// x / (1 + |x|).
Tensor softsign(const Tensor& x);
/// Hyperbolic tangent.
Tensor tanh(const Tensor& x);

///@{
/// Softmax over the last axis, which keeps its logits as sigmoid does, and its logarithm.
Tensor softmax(const Tensor& logits);
Tensor log_softmax(const Tensor& logits);
///@}

/// Any of them by name; what it is applied to is not kept.
Tensor activate(const Tensor& x, Activation activation);

}  // namespace lockstep
