#pragma once

#include <lockstep/kernels/kernel.h>

namespace lockstep::kernels {

/// Mean and variance (c), f32, of each channel of x (rows, f32 or bf16); the variance is the mean squared deviation.
struct ChannelMoments {
  Tensor x;
  Tensor mean;
  Tensor variance;

  static constexpr const char* name = "channel_moments";
  auto operands() const { return kernels::operands(x, mean, variance); }
  template <class Executor>
  void run(Executor& on) const;
  void on_host() const;
  void on_cpu() const;
  void on_gpu() const;
};

/// y (rows) = [relu](gamma * (x - mean) / sqrt(variance + epsilon) + beta [+ residual]), with the residual (rows) if it
/// is defined; f32 or bf16.
struct BatchNorm {
  Tensor x;
  Tensor gamma;
  Tensor beta;
  Tensor mean;
  Tensor variance;
  float epsilon;
  bool relu;
  Tensor y;
  Tensor residual{};

  static constexpr const char* name = "batch_norm";
  auto operands() const { return kernels::operands(x, gamma, beta, mean, variance, y, residual); }
  template <class Executor>
  void run(Executor& on) const;
  void on_host() const;
  void on_cpu() const;
  void on_gpu() const;
};

/// Mean and variance (c) over the rows of all parts. Each row of `parts` (m, 2 c + 1) holds the mean (c), the variance
/// (c) and the number of rows of one part.
struct MergeMoments {
  Tensor parts;
  Tensor mean;
  Tensor variance;

  static constexpr const char* name = "merge_moments";
  auto operands() const { return kernels::operands(parts, mean, variance); }
  template <class Executor>
  void run(Executor& on) const;
  void on_host() const;
  void on_cpu() const;
  void on_gpu() const;
};

/// Computes dgamma and dbeta from dy (rows), f32 or bf16. With a ReLU after the addition of a residual, `y` (rows) is
/// the result of the ReLU, and the gradient with respect to the sum before it, dy or 0, is written to `dsum` (rows) and
/// used instead of dy; otherwise `y` and `dsum` are undefined.
struct BatchNormGradientSums {
  Tensor x;
  Tensor gamma;
  Tensor beta;
  Tensor mean;
  Tensor variance;
  float epsilon;
  bool relu;
  Tensor dy;
  Tensor dgamma;
  Tensor dbeta;
  Tensor y{};
  Tensor dsum{};

  static constexpr const char* name = "batch_norm_gradient_sums";
  auto operands() const { return kernels::operands(x, gamma, beta, mean, variance, dy, dgamma, dbeta, y, dsum); }
  template <class Executor>
  void run(Executor& on) const;
  void on_host() const;
  void on_cpu() const;
  void on_gpu() const;

 private:
  template <class Executor>
  void run_with_residual(Executor& on) const;
};

/// Computes dx from dy (rows), f32 or bf16; dx may be x itself. `count` is the number of rows that mean, variance,
/// dgamma and dbeta were computed from, or 0 if mean and variance do not depend on x; dgamma and dbeta are then not
/// read.
struct BatchNormGradientX {
  Tensor x;
  Tensor gamma;
  Tensor beta;
  Tensor mean;
  Tensor variance;
  float epsilon;
  bool relu;
  Tensor dy;
  Tensor dgamma;
  Tensor dbeta;
  std::int64_t count;
  Tensor dx;

  static constexpr const char* name = "batch_norm_gradient_x";
  auto operands() const { return kernels::operands(x, gamma, beta, mean, variance, dy, dgamma, dbeta, dx); }
  template <class Executor>
  void run(Executor& on) const;
  void on_host() const;
  void on_cpu() const;
  void on_gpu() const;
};

///@{
/// Layer normalization of rows: x and y (n, features), dense f32 or bf16, mean and inverse = 1 / sqrt(variance +
/// epsilon) (n).
struct LayerNorm {
  Tensor x;
  Tensor gamma;
  Tensor beta;
  float epsilon;
  Tensor y;
  Tensor mean;
  Tensor inverse;

  static constexpr const char* name = "layer_norm";
  auto operands() const { return kernels::operands(x, gamma, beta, y, mean, inverse); }
  template <class Executor>
  void run(Executor& on) const;
  void on_host() const;
  void on_cpu() const;
  void on_gpu() const;
};

struct LayerNormGradient {
  Tensor x;
  Tensor gamma;
  Tensor mean;
  Tensor inverse;
  Tensor dy;
  Tensor dx;
  Tensor dgamma;
  Tensor dbeta;

  static constexpr const char* name = "layer_norm_gradient";
  auto operands() const { return kernels::operands(x, gamma, mean, inverse, dy, dx, dgamma, dbeta); }
  template <class Executor>
  void run(Executor& on) const;
  void on_host() const;
  void on_cpu() const;
  void on_gpu() const;
};
///@}

}  // namespace lockstep::kernels
