#include "lockstep/kernels/normalization/layer_norm.h"

#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/array/broadcast_gradient.h>
#include <lockstep/kernels/array/elementwise.h>
#include <lockstep/kernels/normalization/normalization_kernels.h>
#include <lockstep/kernels/op/gradient.h>
#include <lockstep/kernels/reduction/reduction.h>

namespace lockstep {
namespace {

void check_vector(const char* what, const Tensor& value, const Tensor& x) {
  require(value.defined() && value.dtype() == DType::f32 && value.shape() == Shape{x.dim(-1)},
          "layer_norm: {} for x {} must be f32 ({}), got {}", what, x.shape(), x.dim(-1), value);
}

/// What the gradient needs.
struct LayerNormSaved {
  Tensor input, x, gamma;  ///< x: the input as (rows, features)
  Tensor mean, inverse;    ///< (rows)
  float epsilon;

  /// By ops.
  void contribute_by_ops(BackwardContext& c) const {
    contribute_composed(c, {input, gamma}, c.gradient(0), [this](const std::vector<Tensor>& in) {
      const Tensor wide = cast(in[0], DType::f32);
      const Tensor centered = wide - lockstep::mean(wide, {-1}, true);
      const Tensor normalized = centered * rsqrt(lockstep::mean(square(centered), {-1}, true) + epsilon) * in[1];
      return cast(normalized, in[0].dtype());
    });
    contribute_ops(c, 2, [&] { return summed_to(cast(c.gradient(0), DType::f32), gamma.shape()); });
  }

  void contribute_gradients(BackwardContext& c) const {
    if (c.is_recorded()) return contribute_by_ops(c);
    const Tensor dy = make_dense(c.gradient(0)).view(x.shape());
    const Tensor dgamma = Tensor::empty(gamma.shape());
    const Tensor dbeta = Tensor::empty(gamma.shape());
    const auto compute = [&](const Tensor& dx) {
      launch(kernels::LayerNormGradient{x, gamma, mean, inverse, dy, dx, dgamma, dbeta});
    };
    if (c.needs(0))
      contribute(
          c, 0, input.shape(), [&](const Tensor& out) { compute(out.view(x.shape())); }, x.dtype());
    else
      compute(Tensor());
    contribute(c, 1, gamma.shape(), [&](const Tensor& out) { copy(dgamma, out); });
    contribute(c, 2, gamma.shape(), [&](const Tensor& out) { copy(dbeta, out); });
  }
};

}  // namespace

Tensor layer_norm(const Tensor& x, const Tensor& gamma, const Tensor& beta, float epsilon) try {
  require(x.defined() && x.rank() >= 1 && is_real(x.dtype()) && x.dim(-1) >= 1,
          "layer_norm: x must be f32 or bf16 (..., features), got {}", x);
  check_vector("gamma", gamma, x);
  check_vector("beta", beta, x);
  const Tensor input = dense_copy(x);
  const Tensor scale = dense_copy(gamma);
  const Tensor shift = dense_copy(beta);
  const std::int64_t rows = x.elements() / x.dim(-1);
  const LayerNormSaved saved{.input = input,
                             .x = input.view({rows, x.dim(-1)}),
                             .gamma = scale,
                             .mean = Tensor::empty({rows}),
                             .inverse = Tensor::empty({rows}),
                             .epsilon = epsilon};
  const Tensor y = Tensor::empty(x.shape(), x.dtype());
  launch(kernels::LayerNorm{saved.x, scale, shift, epsilon, y.view(saved.x.shape()), saved.mean, saved.inverse});
  if (recording({input, scale, shift}))
    record("layer_norm", {input, scale, shift}, y, [saved](BackwardContext& c) { saved.contribute_gradients(c); });
  return y;
} catch (Error& error) {
  rethrow_from("layer_norm", error);
}

}  // namespace lockstep
