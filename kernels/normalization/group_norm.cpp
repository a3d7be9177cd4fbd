#include "lockstep/kernels/normalization/group_norm.h"

#include <algorithm>

#include <lockstep/kernels/array/elementwise.h>
#include <lockstep/kernels/normalization/affine_norm.h>
#include <lockstep/kernels/normalization/group_norm_kernels.h>
#include <lockstep/kernels/reduction/reduction.h>

namespace lockstep {

Tensor group_norm(const Tensor& x, std::int64_t groups, const Tensor& gamma, const Tensor& beta, float epsilon) try {
  require(x.defined() && x.rank() >= 2 && is_real(x.dtype()) && x.dim(-1) >= 1,
          "group_norm: x must be f32 or bf16 (n, ..., channels), got {}", x);
  require(groups >= 1 && x.dim(-1) % groups == 0,
          "group_norm: the number of channels of x {} must be divisible by {} groups", x.shape(), groups);
  detail::check_affine("group_norm", "gamma", gamma, x);
  detail::check_affine("group_norm", "beta", beta, x);
  const std::int64_t examples = x.dim(0);
  const std::int64_t channels = x.dim(-1);
  const std::int64_t places = x.elements() / std::max<std::int64_t>(1, examples * channels);
  return detail::affine_norm<kernels::GroupNorm, kernels::GroupNormGradient>(
      "group_norm", x, gamma, beta, epsilon, {examples, places, channels}, {examples, groups}, [=](const Tensor& in) {
        const Tensor grouped = reshape(in, {examples, places, groups, channels / groups});
        const Tensor centered = grouped - mean(grouped, {1, 3}, true);
        const Tensor z = centered * rsqrt(mean(square(centered), {1, 3}, true) + epsilon);
        return reshape(z, in.shape());
      });
} catch (Error& error) {
  rethrow_from("group_norm", error);
}

}  // namespace lockstep
