#pragma once

#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep {

/// Group normalization (Wu and He 2018): gamma * (x - mean) / sqrt(variance + epsilon) + beta for x (n, ..., channels)
/// with at least two axes, gamma and beta (channels). The channels are divided into `groups` groups of equal size, each
/// of consecutive channels; mean and biased variance are computed for each group of each example. x is f32 or bf16,
/// gamma and beta f32; the result has the shape and dtype of x. Differentiable in x, gamma and beta. Throws
/// InvalidArgument for other shapes and dtypes, for 0 channels, and unless `groups` is a positive divisor of the number
/// of channels.
Tensor group_norm(const Tensor& x, std::int64_t groups, const Tensor& gamma, const Tensor& beta, float epsilon = 1e-3F);

}  // namespace lockstep
