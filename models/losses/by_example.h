#pragma once

#include <lockstep/kernels/array/elementwise.h>

// What the losses have in common.

namespace lockstep {

/// What Keras' losses keep away from 0.
inline constexpr double keras_epsilon = 1e-7;

/// What a layer of another dtype policy gave, as f32; all but bf16 as it is.
inline Tensor as_f32(const Tensor& y_pred) { return y_pred.dtype() == DType::bf16 ? cast(y_pred, DType::f32) : y_pred; }

/// y_true as f32 in the shape of y_pred. Throws InvalidArgument, naming `loss`, unless both have an axis of examples
/// and as many examples and elements.
Tensor targets_like(const char* loss, const Tensor& y_true, const Tensor& y_pred);

/// (n, ...) -> (n): the mean over each example's elements.
Tensor mean_by_example(const Tensor& x);

}  // namespace lockstep
