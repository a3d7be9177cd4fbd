#pragma once

#include <span>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/runtime/tensor/tensor.h>

// Element-wise ops; results have the operands' dtype. For f32 and bf16, all are differentiable; the gradient of step
// functions such as floor is 0. maximum, minimum, power, squared_difference, add_n, floor_divide, mod, abs, sign and
// clip compute integers, u8 and bool by the rules of arithmetic.h. For bool, the results of power, floor_divide, mod
// and clip are i32, and squared_difference and sign throw InvalidArgument. abs and trunc, and round to 0 or more
// decimals, return u8 and bool unchanged, trunc and round also integers; the other functions convert them to f32. Throw
// InvalidArgument for scalars that the dtype cannot represent, operands of different dtypes, and undefined tensors.
// Activations are in activations.h.

namespace lockstep {

///@{
/// The larger and the smaller of a and b, element by element; shapes broadcast as for add. The result is NaN if a or b
/// is NaN. Where a and b are equal, the gradient goes to a, as in TensorFlow. Throw the errors of add.
Tensor maximum(const Tensor& a, const Tensor& b);
Tensor minimum(const Tensor& a, const Tensor& b);
///@}

/// a to the power b, element by element; shapes broadcast as for add. Throws the errors of add. As in TensorFlow, the
/// gradient of b is 0 where a is not positive; the gradient of a is 0 where b is 0. For integers, a negative power is
/// rounded towards 0, and a negative power of 0 is 0.
Tensor power(const Tensor& a, const Tensor& b);
/// (a - b)^2, element by element; shapes broadcast as for add. Throws the errors of add.
Tensor squared_difference(const Tensor& a, const Tensor& b);
///@{
/// Python's // and %, element by element: floor_divide rounds a / b down, and mod is a - b * floor_divide(a, b), which
/// has the sign of b. Shapes broadcast as for add. Throw the errors of add. Both are 0 for integers where b is 0, as in
/// NumPy. The gradient of floor_divide is 0. In mod, the gradient of b is -floor_divide(a, b) times the gradient of the
/// result, as in JAX.
Tensor floor_divide(const Tensor& a, const Tensor& b);
Tensor mod(const Tensor& a, const Tensor& b);
///@}

/// The angle between the positive x axis and the point (b, a), in radians from -pi to pi; shapes broadcast as for add.
/// Throws the errors of add.
Tensor arctan2(const Tensor& a, const Tensor& b);
/// log(exp(a) + exp(b)), computed without overflow for any a and b; shapes broadcast as for add. Throws the errors of
/// add.
Tensor logaddexp(const Tensor& a, const Tensor& b);

/// The sum of tensors of one shape and dtype; a single tensor is returned as it is. Throws InvalidArgument for an empty
/// list and when shapes or dtypes differ.
Tensor add_n(std::span<const Tensor> parts);

///@{
/// Element-wise a op b with a scalar as one operand. power throws InvalidArgument for an integer tensor a and a
/// negative scalar b.
Tensor power(const Tensor& a, double b);
Tensor power(double a, const Tensor& b);
Tensor squared_difference(const Tensor& a, double b);
Tensor squared_difference(double a, const Tensor& b);
Tensor floor_divide(const Tensor& a, double b);
Tensor floor_divide(double a, const Tensor& b);
Tensor mod(const Tensor& a, double b);
Tensor mod(double a, const Tensor& b);
Tensor arctan2(const Tensor& a, double b);
Tensor arctan2(double a, const Tensor& b);
Tensor logaddexp(const Tensor& a, double b);
Tensor logaddexp(double a, const Tensor& b);
///@}

///@{
/// Apply a function to every element. NaN and infinity follow IEEE arithmetic, e.g. log and sqrt of a negative number
/// are NaN.
Tensor exp(const Tensor& x);
Tensor exp2(const Tensor& x);
Tensor log(const Tensor& x);
Tensor log2(const Tensor& x);
Tensor log10(const Tensor& x);
Tensor sqrt(const Tensor& x);
Tensor cbrt(const Tensor& x);
Tensor sin(const Tensor& x);
Tensor cos(const Tensor& x);
Tensor tan(const Tensor& x);
Tensor arcsin(const Tensor& x);
Tensor arccos(const Tensor& x);
Tensor arctan(const Tensor& x);
Tensor sinh(const Tensor& x);
Tensor cosh(const Tensor& x);
Tensor arcsinh(const Tensor& x);
Tensor arccosh(const Tensor& x);
Tensor arctanh(const Tensor& x);
///@}
///@{
/// log(1 + x) and exp(x) - 1, accurate even near 0.
Tensor log1p(const Tensor& x);
Tensor expm1(const Tensor& x);
///@}
///@{
/// rsqrt is 1 / sqrt(x), reciprocal is 1 / x.
Tensor rsqrt(const Tensor& x);
Tensor reciprocal(const Tensor& x);
///@}
/// The error function, 2 / sqrt(pi) times the integral of exp(-t^2) from 0 to x.
Tensor erf(const Tensor& x);
/// |x|. The gradient at 0 is 0.
Tensor abs(const Tensor& x);
/// -1, 0 or 1. NaN stays NaN.
Tensor sign(const Tensor& x);
///@{
/// Rounding to an integer, down (floor), up (ceil) or towards 0 (trunc).
Tensor floor(const Tensor& x);
Tensor ceil(const Tensor& x);
Tensor trunc(const Tensor& x);
///@}
/// The nearest number with `decimals` decimals, ties to even; negative `decimals` round to tens, hundreds and so on. As
/// in NumPy, multiplies by a power of ten, rounds to an integer and divides, each in f32; leaves x unchanged where the
/// multiplication would overflow. Throws InvalidArgument unless -38 <= decimals <= 38, and for dtypes other than f32
/// and bf16 if `decimals` is negative.
Tensor round(const Tensor& x, int decimals = 0);

///@{
/// max(x, lowest) and min(x, highest) for every element x. The gradient is dy where the result is x, else 0. NaN stays
/// NaN.
Tensor maximum(const Tensor& x, double lowest);
Tensor minimum(const Tensor& x, double highest);
inline Tensor maximum(double lowest, const Tensor& x) { return maximum(x, lowest); }
inline Tensor minimum(double highest, const Tensor& x) { return minimum(x, highest); }
///@}
/// min(max(x, lowest), highest) for every element x; gradients and NaN are handled as in maximum. Throws
/// InvalidArgument unless lowest <= highest.
Tensor clip(const Tensor& x, double lowest, double highest);

}  // namespace lockstep
