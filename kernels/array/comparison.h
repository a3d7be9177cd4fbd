#pragma once

#include <lockstep/runtime/tensor/tensor.h>

// Comparisons and logic, element by element. Results are bool, except where's. Shapes broadcast as in NumPy. Only where
// is differentiable. Throw InvalidArgument for shapes that do not broadcast, operands of different dtypes, undefined
// tensors, a condition that is not bool, and numbers that the tensor's dtype does not hold.

namespace lockstep {

///@{
/// a op b for elements of any dtype, or with a number for every element of a. Comparisons with NaN are false, except
/// not_equal.
Tensor equal(const Tensor& a, const Tensor& b);
Tensor equal(const Tensor& a, double b);
Tensor not_equal(const Tensor& a, const Tensor& b);
Tensor not_equal(const Tensor& a, double b);
Tensor less(const Tensor& a, const Tensor& b);
Tensor less(const Tensor& a, double b);
Tensor less_equal(const Tensor& a, const Tensor& b);
Tensor less_equal(const Tensor& a, double b);
Tensor greater(const Tensor& a, const Tensor& b);
Tensor greater(const Tensor& a, double b);
Tensor greater_equal(const Tensor& a, const Tensor& b);
Tensor greater_equal(const Tensor& a, double b);
///@}

///@{
/// Logic on elements of any dtype; all numbers but 0 are true.
Tensor logical_and(const Tensor& a, const Tensor& b);
Tensor logical_or(const Tensor& a, const Tensor& b);
Tensor logical_xor(const Tensor& a, const Tensor& b);
Tensor logical_not(const Tensor& x);
///@}

///@{
/// The element of a where `condition` (bool) is true, else the element of b; a and b of any dtype, or one of them a
/// number. Differentiable in a and b.
Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b);
Tensor where(const Tensor& condition, const Tensor& a, double b);
Tensor where(const Tensor& condition, double a, const Tensor& b);
///@}

///@{
/// Whether elements of f32 or bf16 are NaN, infinite, or neither. Throw InvalidArgument for other dtypes.
Tensor isnan(const Tensor& x);
Tensor isinf(const Tensor& x);
Tensor isfinite(const Tensor& x);
///@}

}  // namespace lockstep
