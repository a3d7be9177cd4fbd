#pragma once

#include <lockstep/kernels/elementwise/unary_function.h>
#include <lockstep/runtime/tensor/tensor.h>

// Functions shared by all ops that apply one function to every element.

namespace lockstep {

/// Whether the gradient of f is computed from f(x) instead of x.
bool gradient_from_result(const UnaryFunction& f);

/// Applies f to every element of an f32 or bf16 tensor. Differentiable. With `keeps_origin`, the result has x as its
/// origin (Tensor::origin). Throws InvalidArgument for other dtypes and undefined tensors.
Tensor unary(const UnaryFunction& f, const Tensor& x, bool keeps_origin = false);

/// Like `unary`, for any dtype: dtypes other than f32 and bf16 are converted to f32.
Tensor real_unary(const UnaryFunction& f, const Tensor& x);

/// The derivative of f at x, computed with differentiable ops; used when tapes record the backward pass. `kept` is f(x)
/// if gradient_from_result(f), else x.
Tensor slope(const UnaryFunction& f, const Tensor& kept);

}  // namespace lockstep
