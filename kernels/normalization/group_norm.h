#pragma once

#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep {

/// Group normalization (Wu and He 2018): gamma * (x - mean) / sqrt(variance + epsilon) + beta for x (n, ..., channels)
/// with at least two axes, gamma and beta (channels). Mean and biased variance are those of an example's elements in
/// one of `groups` equal groups of neighboring channels. f32; differentiable in all three. Throws InvalidArgument for
/// shapes and dtypes that do not fit and unless `groups` divides the number of channels.
Tensor group_norm(const Tensor& x, std::int64_t groups, const Tensor& gamma, const Tensor& beta, float epsilon = 1e-3F);

}  // namespace lockstep
