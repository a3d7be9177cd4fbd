#pragma once

#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep {

/// Layer normalization (Ba, Kiros and Hinton 2016): gamma * (x - mean) / sqrt(variance + epsilon) + beta, with the mean
/// and the biased variance over x's last axis: x (..., features), gamma and beta (features). x and y are f32 or bf16,
/// gamma and beta f32. Differentiable in x, gamma and beta. Throws InvalidArgument for other shapes and dtypes, and for
/// 0 features.
Tensor layer_norm(const Tensor& x, const Tensor& gamma, const Tensor& beta, float epsilon = 1e-3F);

}  // namespace lockstep
