#include "lockstep/kernels/normalization/layer_norm.h"

#include <lockstep/kernels/array/elementwise.h>
#include <lockstep/kernels/normalization/affine_norm.h>
#include <lockstep/kernels/normalization/normalization_kernels.h>
#include <lockstep/kernels/reduction/reduction.h>

namespace lockstep {

Tensor layer_norm(const Tensor& x, const Tensor& gamma, const Tensor& beta, float epsilon) try {
  require(x.defined() && x.rank() >= 1 && is_real(x.dtype()) && x.dim(-1) >= 1,
          "layer_norm: x must be f32 or bf16 (..., features), got {}", x);
  detail::check_affine("layer_norm", "gamma", gamma, x);
  detail::check_affine("layer_norm", "beta", beta, x);
  const std::int64_t rows = x.elements() / x.dim(-1);
  return detail::affine_norm<kernels::LayerNorm, kernels::LayerNormGradient>(
      "layer_norm", x, gamma, beta, epsilon, {rows, x.dim(-1)}, {rows}, [epsilon](const Tensor& in) {
        const Tensor centered = in - mean(in, {-1}, true);
        return centered * rsqrt(mean(square(centered), {-1}, true) + epsilon);
      });
} catch (Error& error) {
  rethrow_from("layer_norm", error);
}

}  // namespace lockstep
