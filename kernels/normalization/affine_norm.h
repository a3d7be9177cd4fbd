#pragma once

#include <functional>
#include <utility>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/array/broadcast_gradient.h>
#include <lockstep/kernels/op/gradient.h>

// Implements layer_norm and group_norm: gamma * (x - mean) * inverse + beta, where the forward kernel computes the mean
// and inverse = 1 / sqrt(variance + epsilon).

namespace lockstep::detail {

/// Throws InvalidArgument, naming `op` and the operand `what`, unless `value` is an f32 vector whose length is the size
/// of x's last axis.
inline void check_affine(const char* op, const char* what, const Tensor& value, const Tensor& x) {
  require(value.defined() && value.dtype() == DType::f32 && value.shape() == Shape{x.dim(-1)},
          "{}: {} for x {} must be f32 ({}), got {}", op, what, x.shape(), x.dim(-1), value);
}

/// The tensors that the gradient reads. `Gradient` is a kernel with LayerNormGradient's members.
template <class Gradient>
struct AffineNormSaved {
  Tensor input, x, gamma;  ///< x: the input in the shape that the kernels take
  Tensor mean, inverse;    ///< f32
  /// Returns (x - mean) * inverse for an f32 x, computed with differentiable ops.
  std::function<Tensor(const Tensor& x)> normalize;

  void contribute_by_ops(BackwardContext& c) const {
    contribute_composed(c, {input, gamma}, c.gradient(0), [this](const std::vector<Tensor>& in) {
      return cast(normalize(cast(in[0], DType::f32)) * in[1], in[0].dtype());
    });
    contribute_ops(c, 2, [&] { return summed_to(cast(c.gradient(0), DType::f32), gamma.shape()); });
  }

  void contribute_gradients(BackwardContext& c) const {
    if (c.is_recorded()) return contribute_by_ops(c);
    const Tensor dy = make_dense(c.gradient(0)).view(x.shape());
    const Tensor dgamma = Tensor::empty(gamma.shape());
    const Tensor dbeta = Tensor::empty(gamma.shape());
    const auto compute = [&](const Tensor& dx) { launch(Gradient{x, gamma, mean, inverse, dy, dx, dgamma, dbeta}); };
    if (c.needs(0))
      contribute(
          c, 0, input.shape(), [&](const Tensor& out) { compute(out.view(x.shape())); }, x.dtype());
    else
      compute(Tensor());
    contribute(c, 1, gamma.shape(), [&](const Tensor& out) { copy(dgamma, out); });
    contribute(c, 2, gamma.shape(), [&](const Tensor& out) { copy(dbeta, out); });
  }
};

/// Runs the kernel `Norm`, which has LayerNorm's members, on x (f32 or bf16), viewed in the shape `rows`, and records
/// the op for autograd. The kernel's mean and inverse have the shape `moments`. Returns y in the shape and dtype of x.
/// `normalize`: see AffineNormSaved. Precondition: the caller has checked the operands.
template <class Norm, class Gradient>
Tensor affine_norm(const char* op, const Tensor& x, const Tensor& gamma, const Tensor& beta, float epsilon,
                   const Shape& rows, const Shape& moments, std::function<Tensor(const Tensor& x)> normalize) {
  const Tensor input = dense_copy(x);
  const Tensor scale = dense_copy(gamma);
  const Tensor shift = dense_copy(beta);
  const AffineNormSaved<Gradient> saved{.input = input,
                                        .x = input.view(rows),
                                        .gamma = scale,
                                        .mean = Tensor::empty(moments),
                                        .inverse = Tensor::empty(moments),
                                        .normalize = std::move(normalize)};
  const Tensor y = Tensor::empty(x.shape(), x.dtype());
  launch(Norm{saved.x, scale, shift, epsilon, y.view(rows), saved.mean, saved.inverse});
  if (recording({input, scale, shift}))
    record(op, {input, scale, shift}, y, [saved](BackwardContext& c) { saved.contribute_gradients(c); });
  return y;
}

}  // namespace lockstep::detail
