#pragma once

#include <lockstep/kernels/kernel.h>

namespace lockstep::kernels {

///@{
/// Group normalization: x and y (n, positions, channels), f32 or bf16; gamma and beta (channels), f32; mean and inverse
/// (n, groups), f32, where inverse is 1 / sqrt(variance + epsilon). All groups have the same number of neighboring
/// channels. GroupNormGradient computes only dgamma and dbeta if dx is undefined.
struct GroupNorm {
  Tensor x;
  Tensor gamma;
  Tensor beta;
  float epsilon;
  Tensor y;
  Tensor mean;
  Tensor inverse;

  static constexpr const char* name = "group_norm";
  auto operands() const { return kernels::operands(x, gamma, beta, y, mean, inverse); }
  template <class Executor>
  void run(Executor& on) const;
  void on_cpu() const;
};

struct GroupNormGradient {
  Tensor x;
  Tensor gamma;
  Tensor mean;
  Tensor inverse;
  Tensor dy;
  Tensor dx;
  Tensor dgamma;
  Tensor dbeta;

  static constexpr const char* name = "group_norm_gradient";
  auto operands() const { return kernels::operands(x, gamma, mean, inverse, dy, dx, dgamma, dbeta); }
  template <class Executor>
  void run(Executor& on) const;
  void on_cpu() const;
};
///@}

}  // namespace lockstep::kernels
