#pragma once

#include <lockstep/kernels/activation.h>
#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep {

/// activation(x (n, ..., in) * kernel (in, out) + bias (out)) -> (n, ..., out); the bias may be undefined. x and the
/// result are f32 or bf16; kernel and bias are f32. Differentiable. Throws InvalidArgument for other shapes and dtypes,
/// and if `in` or `out` is 0.
Tensor dense(const Tensor& x, const Tensor& kernel, const Tensor& bias, Activation activation = Activation::linear);

}  // namespace lockstep
