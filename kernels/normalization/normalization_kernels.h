#pragma once

#include <lockstep/kernels/kernel.h>

// "(rows)" after a tensor is its layout (kernel.h): (..., c), dense or a slice of the channels of a wider tensor.

namespace lockstep::kernels {

/// Mean and variance (c), f32, of each channel of x (rows), f32 or bf16. The variance is biased (divided by the number
/// of rows).
struct ChannelMoments {
  Tensor x;
  Tensor mean;
  Tensor variance;

  static constexpr const char* name = "channel_moments";
  auto operands() const { return kernels::operands(x, mean, variance); }
  template <class Executor>
  void run(Executor& on) const;
  void on_cpu() const;
};

/// y (rows) = [relu](gamma * (x - mean) / sqrt(variance + epsilon) + beta [+ residual]); f32 or bf16. The ReLU is
/// applied if `relu` is true, and the residual (rows) is added if it is defined.
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
  void on_cpu() const;
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
  void on_cpu() const;
};

/// Computes dgamma and dbeta from dy (rows), f32 or bf16. If a ReLU follows the addition of a residual, `y` (rows) is
/// the ReLU's result. The gradient with respect to the ReLU's argument, dy or 0, is then written to `dsum` (rows) and
/// used instead of dy. Otherwise `y` and `dsum` are undefined.
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
  void on_cpu() const;

 private:
  template <class Executor>
  void run_with_residual(Executor& on) const;
};

/// Computes dx from dy (rows), f32 or bf16; dx may be x itself. `count` is the number of rows from which mean,
/// variance, dgamma and dbeta were computed. If mean and variance do not depend on x, `count` is 0, and dgamma and
/// dbeta are not read.
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
  void on_cpu() const;
};

///@{
/// Layer normalization of rows: x and y (n, features), dense f32 or bf16; mean (n) and inverse (n), where
/// inverse is 1 / sqrt(variance + epsilon). LayerNormGradient computes only dgamma and dbeta if dx is undefined.
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
  void on_cpu() const;
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
  void on_cpu() const;
};
///@}

}  // namespace lockstep::kernels
