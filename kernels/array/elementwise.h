#pragma once

#include <span>

#include <lockstep/kernels/array/activations.h>
#include <lockstep/runtime/tensor/tensor.h>

// Element-wise ops on f32 or bf16, both operands of one dtype; the activations stand in activations.h. All
// are differentiable.

namespace lockstep {

///@{
/// Of two tensors, whose shapes broadcast as in NumPy. Throw InvalidArgument when they do not.
Tensor add(const Tensor& a, const Tensor& b);
Tensor subtract(const Tensor& a, const Tensor& b);
Tensor multiply(const Tensor& a, const Tensor& b);
Tensor divide(const Tensor& a, const Tensor& b);
///@}

/// The sum of tensors of one shape. Throws InvalidArgument for none, and when shapes differ.
Tensor add_n(std::span<const Tensor> parts);

///@{
/// Of every element and a number.
Tensor add(const Tensor& a, double b);
Tensor multiply(const Tensor& a, double b);
///@}

///@{
/// Of every element. NaN and infinity as in IEEE arithmetic: the logarithm and the root of a negative number are NaN.
Tensor negative(const Tensor& x);
Tensor exp(const Tensor& x);
Tensor log(const Tensor& x);
Tensor sqrt(const Tensor& x);
Tensor square(const Tensor& x);
///@}
/// |x|. The gradient at 0 is 0.
Tensor abs(const Tensor& x);

///@{
/// The larger, or the smaller, of each element and a number. The gradient is passed on where the element is that one.
Tensor maximum(const Tensor& x, double lowest);
Tensor minimum(const Tensor& x, double highest);
///@}

///@{
/// The functions above, as operators. Throw what these throw.
inline Tensor operator+(const Tensor& a, const Tensor& b) { return add(a, b); }
inline Tensor operator-(const Tensor& a, const Tensor& b) { return subtract(a, b); }
inline Tensor operator*(const Tensor& a, const Tensor& b) { return multiply(a, b); }
inline Tensor operator/(const Tensor& a, const Tensor& b) { return divide(a, b); }
inline Tensor operator-(const Tensor& x) { return negative(x); }
inline Tensor operator+(const Tensor& a, double b) { return add(a, b); }
inline Tensor operator+(double a, const Tensor& b) { return add(b, a); }
inline Tensor operator-(const Tensor& a, double b) { return add(a, -b); }
inline Tensor operator*(const Tensor& a, double b) { return multiply(a, b); }
inline Tensor operator*(double a, const Tensor& b) { return multiply(b, a); }
inline Tensor operator/(const Tensor& a, double b) { return multiply(a, 1.0 / b); }
///@}

/// Converts between f32, bf16, i32, i64 and u8. Differentiable between f32 and bf16.
Tensor cast(const Tensor& x, DType dtype);

}  // namespace lockstep
