#pragma once

#include <lockstep/kernels/kernel.h>

namespace lockstep::kernels {

///@{
/// Group normalization: x and y (n, places, channels), f32, gamma and beta (channels), mean and inverse =
/// 1 / sqrt(variance + epsilon) (n, groups), where groups are equal numbers of neighboring channels.
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
  void on_host() const;
  void on_cpu() const;
  void on_gpu() const;
};

/// dx may be undefined: then only dgamma and dbeta are computed.
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
  void on_host() const;
  void on_cpu() const;
  void on_gpu() const;
};
///@}

}  // namespace lockstep::kernels
