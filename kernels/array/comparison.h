#pragma once

#include <vector>

#include <lockstep/runtime/tensor/tensor.h>

// Element-wise comparisons and logic. Results are bool unless noted. Shapes broadcast as in NumPy. Only where() with
// three arguments is differentiable, for f32 and bf16. Throw InvalidArgument for undefined tensors, shapes that do not
// broadcast, and operands of different dtypes. Comparisons and where() also throw it for scalars that the other
// operand's integer or bool dtype cannot represent.

namespace lockstep {

///@{
/// Element-wise a op b, for any dtype; a scalar is compared with every element of the other operand. Comparisons with
/// NaN give false, except that not_equal gives true.
Tensor equal(const Tensor& a, const Tensor& b);
Tensor equal(const Tensor& a, double b);
Tensor equal(double a, const Tensor& b);
Tensor not_equal(const Tensor& a, const Tensor& b);
Tensor not_equal(const Tensor& a, double b);
Tensor not_equal(double a, const Tensor& b);
Tensor less(const Tensor& a, const Tensor& b);
Tensor less(const Tensor& a, double b);
Tensor less(double a, const Tensor& b);
Tensor less_equal(const Tensor& a, const Tensor& b);
Tensor less_equal(const Tensor& a, double b);
Tensor less_equal(double a, const Tensor& b);
Tensor greater(const Tensor& a, const Tensor& b);
Tensor greater(const Tensor& a, double b);
Tensor greater(double a, const Tensor& b);
Tensor greater_equal(const Tensor& a, const Tensor& b);
Tensor greater_equal(const Tensor& a, double b);
Tensor greater_equal(double a, const Tensor& b);
///@}

///@{
/// Element-wise logic, for any dtype; nonzero elements and scalars count as true.
Tensor logical_and(const Tensor& a, const Tensor& b);
Tensor logical_and(const Tensor& a, double b);
Tensor logical_and(double a, const Tensor& b);
Tensor logical_or(const Tensor& a, const Tensor& b);
Tensor logical_or(const Tensor& a, double b);
Tensor logical_or(double a, const Tensor& b);
Tensor logical_xor(const Tensor& a, const Tensor& b);
Tensor logical_xor(const Tensor& a, double b);
Tensor logical_xor(double a, const Tensor& b);
Tensor logical_not(const Tensor& x);
///@}

///@{
/// The elements of a where `condition` (bool) is true, elsewhere the elements of b; any dtype. A scalar is broadcast.
/// Differentiable in a and b. Throw InvalidArgument if `condition` is not bool.
Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b);
Tensor where(const Tensor& condition, const Tensor& a, double b);
Tensor where(const Tensor& condition, double a, const Tensor& b);
///@}
/// Returns the indices of the nonzero elements of `condition`, a tensor of any dtype, like keras.ops.where with one
/// argument and keras.ops.nonzero. The result has an i64 tensor for each axis, with one index for each nonzero element,
/// in row-major order. The sizes of these tensors depend on the elements, so the host must read the elements: the call
/// waits for the GPU that holds the condition and cannot be captured in a CUDA graph. Throws InvalidArgument for rank
/// 0.
std::vector<Tensor> where(const Tensor& condition);

///@{
/// Whether each element is NaN (isnan), infinite (isinf) or neither (isfinite), for any dtype.
Tensor isnan(const Tensor& x);
Tensor isinf(const Tensor& x);
Tensor isfinite(const Tensor& x);
///@}
///@{
/// Whether |a - b| <= atol + rtol * |b|, computed in f32, for each element (isclose) or for all elements (allclose,
/// whose result has rank 0). An infinity is close only to the same infinity. NaN is close only to NaN, and only if
/// `equal_nan` is true. Any dtype; shapes broadcast as in `add`. Throw InvalidArgument for shapes that do not
/// broadcast.
Tensor isclose(const Tensor& a, const Tensor& b, double rtol = 1e-5, double atol = 1e-8, bool equal_nan = false);
Tensor allclose(const Tensor& a, const Tensor& b, double rtol = 1e-5, double atol = 1e-8, bool equal_nan = false);
///@}
///@{
/// The number of nonzero elements of x, of any dtype, in the whole tensor or along `axes`; the result is i32. The
/// arguments are as for `sum` (reduction.h).
Tensor count_nonzero(const Tensor& x);
Tensor count_nonzero(const Tensor& x, const std::vector<int>& axes, bool keepdims = false);
///@}

}  // namespace lockstep
