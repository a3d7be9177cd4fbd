#pragma once

#include <optional>
#include <vector>

#include <lockstep/kernels/activation.h>
#include <lockstep/runtime/tensor/tensor.h>

// Activation functions of f32 or bf16 as Keras defines them; sparsemax is in kernels/sorting. All except softmax,
// log_softmax and glu are element-wise. Results have the operand's dtype and, except for glu, its shape. All are
// differentiable. They throw InvalidArgument for other dtypes and for undefined tensors. As a std::function, such as
// the layer Lambda takes, pass functions with overloads or default arguments in a lambda expression:
// [](const Tensor& x) { return relu(x); }.

namespace lockstep {

/// max(0, x). NaN stays NaN; the gradient at 0 is 0.
Tensor relu(const Tensor& x);
/// min(x, max_value) where x > threshold, else negative_slope * (x - threshold): keras.activations.relu. NaN stays NaN.
/// Throws InvalidArgument for a negative slope, max_value or threshold.
Tensor relu(const Tensor& x, double negative_slope, std::optional<double> max_value = {}, double threshold = 0);
/// min(max(0, x), 6).
Tensor relu6(const Tensor& x);
/// x where x > 0, else negative_slope * x. Throws InvalidArgument unless negative_slope >= 0.
Tensor leaky_relu(const Tensor& x, double negative_slope = 0.2);
/// x where x > 0, else alpha * (exp(x) - 1). Throws InvalidArgument unless alpha >= 0.
Tensor elu(const Tensor& x, double alpha = 1);
/// x where x > 0, else alpha * (exp(x / alpha) - 1) (Barron 2017). Throws InvalidArgument unless
/// 1e-30 <= alpha <= 1e30.
Tensor celu(const Tensor& x, double alpha = 1);
/// 1.0507 * x where x > 0, else 1.0507 * 1.6733 * (exp(x) - 1) (Klambauer et al. 2017).
Tensor selu(const Tensor& x);
/// x * Phi(x), where Phi is the cumulative distribution function of the standard normal distribution (Hendrycks and
/// Gimpel 2016). With `approximate`, uses their approximation by tanh.
Tensor gelu(const Tensor& x, bool approximate = false);
/// 1 / (1 + exp(-x)). The result has x as its origin (Tensor::origin), so that losses can use x where the result rounds
/// to 0 or 1.
Tensor sigmoid(const Tensor& x);
/// x / 6 + 0.5, clipped to [0, 1].
Tensor hard_sigmoid(const Tensor& x);
/// x * sigmoid(x) (Elfwing et al. 2017), also called swish.
Tensor silu(const Tensor& x);
/// x * relu6(x + 3) / 6 (Howard et al. 2019), also called hard_swish.
Tensor hard_silu(const Tensor& x);
/// x * tanh(softplus(x)) (Misra 2019).
Tensor mish(const Tensor& x);
/// log(1 + exp(x)), computed without overflow for any x.
Tensor softplus(const Tensor& x);
/// log(sigmoid(x)), computed without overflow for any x.
Tensor log_sigmoid(const Tensor& x);
/// (x + sqrt(x^2 + b)) / 2 (Barron 2021). Throws InvalidArgument unless 1e-30 <= b <= 1e30.
Tensor squareplus(const Tensor& x, double b = 4);
/// 0 below -1, x above 1, (x + 1)^2 / 4 in between.
Tensor sparse_plus(const Tensor& x);
/// (x + 1) / 2, clipped to [0, 1].
Tensor sparse_sigmoid(const Tensor& x);
/// x / (1 + |x|).
Tensor softsign(const Tensor& x);
/// Hyperbolic tangent; integers, u8 and bool are converted to f32.
Tensor tanh(const Tensor& x);
/// x clipped to [-1, 1].
Tensor hard_tanh(const Tensor& x);
/// x - tanh(x).
Tensor tanh_shrink(const Tensor& x);
/// 0 where |x| <= threshold, else x. Throws InvalidArgument unless threshold >= 0.
Tensor hard_shrink(const Tensor& x, double threshold = 0.5);
/// 0 where |x| <= threshold, else x moved toward 0 by `threshold`. Throws InvalidArgument unless threshold >= 0.
Tensor soft_shrink(const Tensor& x, double threshold = 0.5);
/// default_value where x <= threshold, else x.
Tensor threshold(const Tensor& x, double threshold, double default_value);
/// a * sigmoid(b), where a and b are the halves of x along `axis` (Dauphin et al. 2017); a negative axis counts from
/// the end. Throws InvalidArgument for an axis that x does not have and for an axis of odd size.
Tensor glu(const Tensor& x, int axis = -1);

///@{
/// Softmax over the last axis of logits (..., n), and its logarithm. The result of softmax has the logits as its
/// origin. Throw InvalidArgument for rank 0.
Tensor softmax(const Tensor& logits);
Tensor log_softmax(const Tensor& logits);
///@}
///@{
/// softmax and log_softmax, normalized over all of `axes` jointly; negative axes count from the end. The result of
/// softmax has an origin only if `axes` contains just the last axis. Throw InvalidArgument for an empty list of axes,
/// and for axes that the logits do not have or that are given twice.
Tensor softmax(const Tensor& logits, const std::vector<int>& axes);
Tensor log_softmax(const Tensor& logits, const std::vector<int>& axes);
///@}

/// Applies the activation. Activation::linear returns x itself, unchecked. Unlike softmax() and sigmoid(), does not
/// record an origin (Tensor::origin) in the result.
Tensor activate(const Tensor& x, Activation activation);

}  // namespace lockstep
