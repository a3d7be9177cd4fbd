#include "lockstep/kernels/normalization/group_norm.h"

#include <algorithm>

#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/array/broadcast_gradient.h>
#include <lockstep/kernels/array/elementwise.h>
#include <lockstep/kernels/normalization/group_norm_kernels.h>
#include <lockstep/kernels/op/gradient.h>
#include <lockstep/kernels/reduction/reduction.h>

namespace lockstep {
namespace {

void check_vector(const char* what, const Tensor& value, const Tensor& x) {
  require(value.defined() && value.dtype() == DType::f32 && value.shape() == Shape{x.dim(-1)},
          "group_norm: {} for x {} must be f32 ({}), got {}", what, x.shape(), x.dim(-1), value);
}

/// What the gradient needs.
struct GroupNormSaved {
  Tensor input, x, gamma;  ///< x: the input as (n, places, channels)
  Tensor mean, inverse;    ///< (n, groups)
  float epsilon;

  /// By ops.
  void contribute_by_ops(BackwardContext& c) const {
    contribute_composed(c, {input, gamma}, c.gradient(0), [this](const std::vector<Tensor>& in) {
      const std::int64_t groups = mean.dim(1);
      const Tensor grouped = reshape(in[0], {x.dim(0), x.dim(1), groups, x.dim(2) / groups});
      const Tensor centered = grouped - lockstep::mean(grouped, {1, 3}, true);
      const Tensor z = centered * rsqrt(lockstep::mean(square(centered), {1, 3}, true) + epsilon);
      return reshape(z, input.shape()) * in[1];
    });
    contribute_ops(c, 2, [&] { return summed_to(c.gradient(0), gamma.shape()); });
  }

  void contribute_gradients(BackwardContext& c) const {
    if (c.is_recorded()) return contribute_by_ops(c);
    const Tensor dy = make_dense(c.gradient(0)).view(x.shape());
    const Tensor dgamma = Tensor::empty(gamma.shape());
    const Tensor dbeta = Tensor::empty(gamma.shape());
    const auto compute = [&](const Tensor& dx) {
      launch(kernels::GroupNormGradient{x, gamma, mean, inverse, dy, dx, dgamma, dbeta});
    };
    if (c.needs(0))
      contribute(c, 0, input.shape(), [&](const Tensor& out) { compute(out.view(x.shape())); });
    else
      compute(Tensor());
    contribute(c, 1, gamma.shape(), [&](const Tensor& out) { copy(dgamma, out); });
    contribute(c, 2, gamma.shape(), [&](const Tensor& out) { copy(dbeta, out); });
  }
};

}  // namespace

Tensor group_norm(const Tensor& x, std::int64_t groups, const Tensor& gamma, const Tensor& beta, float epsilon) try {
  require(x.defined() && x.rank() >= 2 && x.dtype() == DType::f32 && x.dim(-1) >= 1,
          "group_norm: x must be f32 (n, ..., channels), got {}", x);
  require(groups >= 1 && x.dim(-1) % groups == 0,
          "group_norm: the number of channels of x {} must be divisible by {} groups", x.shape(), groups);
  check_vector("gamma", gamma, x);
  check_vector("beta", beta, x);
  const Tensor input = dense_copy(x);
  const Tensor scale = dense_copy(gamma);
  const Tensor shift = dense_copy(beta);
  const std::int64_t examples = x.dim(0);
  const std::int64_t places = x.elements() / std::max<std::int64_t>(1, examples * x.dim(-1));
  const GroupNormSaved saved{.input = input,
                             .x = input.view({examples, places, x.dim(-1)}),
                             .gamma = scale,
                             .mean = Tensor::empty({examples, groups}),
                             .inverse = Tensor::empty({examples, groups}),
                             .epsilon = epsilon};
  const Tensor y = Tensor::empty(x.shape());
  launch(kernels::GroupNorm{saved.x, scale, shift, epsilon, y.view(saved.x.shape()), saved.mean, saved.inverse});
  if (recording({input, scale, shift}))
    record("group_norm", {input, scale, shift}, y, [saved](BackwardContext& c) { saved.contribute_gradients(c); });
  return y;
} catch (Error& error) {
  rethrow_from("group_norm", error);
}

}  // namespace lockstep
