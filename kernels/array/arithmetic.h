#pragma once

#include <lockstep/runtime/tensor/tensor.h>

// Arithmetic, its operators and cast. They are apart from elementwise.h because most sources need no other element-wise
// ops. Results have the operands' dtype; those of f32 and bf16 are differentiable. divide converts integers, u8 and
// bool to f32. The other functions follow NumPy: ops of integers and u8 wrap around on overflow; for bool, add is
// "or", multiply is "and", the result of square is i32, and subtract and negative throw InvalidArgument. A scalar
// operand must be a number that the tensor's dtype can represent. All except cast throw InvalidArgument for other
// scalars, operands of different dtypes, and undefined tensors.

namespace lockstep {

///@{
/// a op b, element by element; shapes broadcast as in NumPy. Throw InvalidArgument for shapes that do not broadcast.
Tensor add(const Tensor& a, const Tensor& b);
Tensor subtract(const Tensor& a, const Tensor& b);
Tensor multiply(const Tensor& a, const Tensor& b);
Tensor divide(const Tensor& a, const Tensor& b);
///@}

///@{
/// Element-wise a op b with a scalar as one operand. divide by a scalar b multiplies by 1 / b, rounded to f32; it
/// divides only if this factor would overflow and b is not 0.
Tensor add(const Tensor& a, double b);
Tensor subtract(double a, const Tensor& b);
Tensor subtract(const Tensor& a, double b);
Tensor multiply(const Tensor& a, double b);
Tensor divide(double a, const Tensor& b);
Tensor divide(const Tensor& a, double b);
///@}

///@{
/// -x and x * x.
Tensor negative(const Tensor& x);
Tensor square(const Tensor& x);
///@}

///@{
/// Operators for the functions above, with the same errors.
inline Tensor operator+(const Tensor& a, const Tensor& b) { return add(a, b); }
inline Tensor operator-(const Tensor& a, const Tensor& b) { return subtract(a, b); }
inline Tensor operator*(const Tensor& a, const Tensor& b) { return multiply(a, b); }
inline Tensor operator/(const Tensor& a, const Tensor& b) { return divide(a, b); }
inline Tensor operator-(const Tensor& x) { return negative(x); }
inline Tensor operator+(const Tensor& a, double b) { return add(a, b); }
inline Tensor operator+(double a, const Tensor& b) { return add(b, a); }
inline Tensor operator-(const Tensor& a, double b) { return subtract(a, b); }
inline Tensor operator-(double a, const Tensor& b) { return subtract(a, b); }
inline Tensor operator*(const Tensor& a, double b) { return multiply(a, b); }
inline Tensor operator*(double a, const Tensor& b) { return multiply(b, a); }
inline Tensor operator/(const Tensor& a, double b) { return divide(a, b); }
inline Tensor operator/(double a, const Tensor& b) { return divide(a, b); }
///@}

///@{
/// a = a op b. The handle a then refers to the result; other handles to the old tensor still see its old elements.
/// Tapes record the op. /= throws InvalidArgument for a of another dtype than f32 and bf16, as in NumPy: it would
/// change the dtype of a.
inline Tensor& operator+=(Tensor& a, const Tensor& b) { return a = a + b; }
inline Tensor& operator-=(Tensor& a, const Tensor& b) { return a = a - b; }
inline Tensor& operator*=(Tensor& a, const Tensor& b) { return a = a * b; }
Tensor& operator/=(Tensor& a, const Tensor& b);
inline Tensor& operator+=(Tensor& a, double b) { return a = a + b; }
inline Tensor& operator-=(Tensor& a, double b) { return a = a - b; }
inline Tensor& operator*=(Tensor& a, double b) { return a = a * b; }
Tensor& operator/=(Tensor& a, double b);
///@}

/// x converted to `dtype`; x itself if it has this dtype. The result keeps the origin (Tensor::origin) of a softmax or
/// sigmoid. Converts between any two dtypes: real numbers to integers by truncation (unspecified for NaN and values
/// beyond the integers' range), any number to bool by x != 0. Differentiable between f32 and bf16.
Tensor cast(const Tensor& x, DType dtype);

}  // namespace lockstep
