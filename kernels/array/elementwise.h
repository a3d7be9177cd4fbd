#pragma once

#include <span>

#include <lockstep/kernels/array/activations.h>
#include <lockstep/runtime/tensor/tensor.h>

// Element-wise ops on f32 or bf16; results have the operands' dtype. All are differentiable. Throw InvalidArgument for
// other dtypes, operands of different dtypes and undefined tensors. Activations are in activations.h.

namespace lockstep {

///@{
/// a op b, element by element; shapes broadcast as in NumPy. Throw InvalidArgument when they do not broadcast.
Tensor add(const Tensor& a, const Tensor& b);
Tensor subtract(const Tensor& a, const Tensor& b);
Tensor multiply(const Tensor& a, const Tensor& b);
Tensor divide(const Tensor& a, const Tensor& b);
///@}

///@{
/// The larger and the smaller of a and b, element by element; shapes broadcast as above. NaN if one of them is NaN. The
/// gradient of equal elements is that of a, as in TensorFlow. Throw as above.
Tensor maximum(const Tensor& a, const Tensor& b);
Tensor minimum(const Tensor& a, const Tensor& b);
///@}

/// The sum of tensors of one shape and dtype. Throws InvalidArgument for an empty list and when these differ.
Tensor add_n(std::span<const Tensor> parts);

///@{
/// x op number, for every element x.
Tensor add(const Tensor& a, double b);
Tensor multiply(const Tensor& a, double b);
///@}

///@{
/// f(x) of every element. NaN and infinity follow IEEE arithmetic: log and sqrt of a negative number are NaN.
Tensor negative(const Tensor& x);
Tensor exp(const Tensor& x);
Tensor log(const Tensor& x);
Tensor sqrt(const Tensor& x);
Tensor square(const Tensor& x);
///@}
/// |x|. The gradient at 0 is 0.
Tensor abs(const Tensor& x);

///@{
/// max(x, lowest) and min(x, highest) of every element. dx = dy where the result is x, else 0. NaN stays NaN.
Tensor maximum(const Tensor& x, double lowest);
Tensor minimum(const Tensor& x, double highest);
///@}

///@{
/// The functions above as operators. Throw as these.
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

/// Converts x between any two dtypes: real numbers to integers by truncation, to bool by x != 0. Differentiable between
/// f32 and bf16.
Tensor cast(const Tensor& x, DType dtype);

}  // namespace lockstep
