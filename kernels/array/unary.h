#pragma once

#include <lockstep/kernels/elementwise/unary_function.h>
#include <lockstep/runtime/tensor/tensor.h>

// Functions shared by all ops that apply one function to every element.

namespace lockstep {

/// The functor's name and kind.
functor::Info info_of(const UnaryFunction& function);

/// Applies f to every element of an f32 or bf16 tensor. Differentiable. With `keeps_origin`, the result has x as its
/// origin (Tensor::origin). Throws InvalidArgument for other dtypes and undefined tensors.
Tensor unary(const UnaryFunction& f, const Tensor& x, bool keeps_origin = false);

/// Like `unary`, for any dtype: dtypes other than f32 and bf16 are converted to f32.
Tensor real_unary(const UnaryFunction& f, const Tensor& x);

/// dy * f'(x), computed with differentiable ops; used when tapes record the backward pass. `kept` is f(x) if
/// info_of(f).from_result, else x.
Tensor unary_gradient(const UnaryFunction& f, const Tensor& kept, const Tensor& dy);

}  // namespace lockstep
