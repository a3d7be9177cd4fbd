#pragma once

#include <lockstep/kernels/elementwise/unary_function.h>
#include <lockstep/runtime/tensor/tensor.h>

// What the families of ops share that apply one function to every element.

namespace lockstep {

/// Whether the gradient of f is computed from f(x) and not from x.
bool gradient_from_result(const UnaryFunction& f);

/// f of every element of a tensor of f32 or bf16, differentiable. `keeps_origin`: the result has x as its origin.
Tensor unary(const UnaryFunction& f, const Tensor& x, bool keeps_origin = false);

}  // namespace lockstep
