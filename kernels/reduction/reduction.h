#pragma once

#include <optional>
#include <vector>

#include <lockstep/runtime/tensor/tensor.h>

// Reductions of tensors of any dtype. Each function reduces either all elements, which gives a result of rank 0, or the
// elements along `axes` (negative axes count from the end); with `keepdims` the reduced axes remain with size 1. The
// order of addition depends only on the shape and the kind of device, so the same input gives the same bits. Throw
// InvalidArgument for undefined tensors, and axes that x does not have or that are given twice.

namespace lockstep {

///@{
/// The sum, in x's dtype, or i32 for u8 and bool; 0 if there are no elements. Sums of integers wrap around.
/// Differentiable.
Tensor sum(const Tensor& x);
Tensor sum(const Tensor& x, const std::vector<int>& axes, bool keepdims = false);
///@}
///@{
/// The mean, in x's dtype, or f32 for dtypes other than f32 and bf16. The mean of no elements is NaN, as
/// in NumPy. Differentiable.
Tensor mean(const Tensor& x);
Tensor mean(const Tensor& x, const std::vector<int>& axes, bool keepdims = false);
///@}
///@{
/// The largest and the smallest element, in x's dtype; NaN if one element is NaN. Differentiable: elements that equal
/// the result share its gradient equally, as in TensorFlow. Throw InvalidArgument if a reduced axis has size 0 and the
/// result has elements.
Tensor max(const Tensor& x);
Tensor max(const Tensor& x, const std::vector<int>& axes, bool keepdims = false);
Tensor min(const Tensor& x);
Tensor min(const Tensor& x, const std::vector<int>& axes, bool keepdims = false);
///@}
///@{
/// Whether any, or all, of the elements are true, as bool; nonzero elements count as true. Without elements, `any`
/// gives false and `all` gives true. Not differentiable.
Tensor any(const Tensor& x);
Tensor any(const Tensor& x, const std::vector<int>& axes, bool keepdims = false);
Tensor all(const Tensor& x);
Tensor all(const Tensor& x, const std::vector<int>& axes, bool keepdims = false);
///@}
///@{
/// Index (i64) of the largest (argmax) or smallest (argmin) element along `axis`; without an axis, row-major index in
/// the whole tensor. Of equal elements, the first one counts; if elements are NaN, the first NaN. Any dtype. Not
/// differentiable. With an axis, throw InvalidArgument if the axis has size 0 and the result has elements; without an
/// axis, if x has no elements.
Tensor argmax(const Tensor& x, std::optional<int> axis = {}, bool keepdims = false);
Tensor argmin(const Tensor& x, std::optional<int> axis = {}, bool keepdims = false);
///@}

}  // namespace lockstep
