#pragma once

#include <array>
#include <span>
#include <string_view>
#include <vector>

#include <lockstep/runtime/tensor/tensor.h>

// Sums of products of tensors of one dtype, which is also the result's; products and sums of integers, u8 and bool are
// those of matmul (matmul.h). Differentiable. Throw InvalidArgument for different dtypes (cast one), undefined tensors,
// axes that are out of range or given twice, and axes of different sizes that are summed over together.

namespace lockstep {

///@{
/// Einstein summation, like numpy.einsum. A term of the equation has a letter for each axis of its tensor. A letter
/// that occurs several times in a term takes the diagonal of these axes; `...` stands for any number of further axes.
/// If several terms have `...`, the further axes of their tensors are matched from the last axis on. Axes with the same
/// letter and matched axes of `...` must have the same size. The sum is over all axes that are not in the term after
/// `->`. Without `->`, the result has the axes of `...`, then the axes of the letters that occur once, in alphabetical
/// order with capitals first. Multiplies the first two tensors, then their product and the third, and so on; each
/// product is summed over the axes that are neither in a later term nor in the result. Throws InvalidArgument for a
/// malformed equation, for a term that has `...` twice, for a result that has a letter twice, and if the numbers of
/// tensors and terms differ.
Tensor einsum(std::string_view equation, std::span<const Tensor> operands);
inline Tensor einsum(std::string_view equation, const Tensor& a) { return einsum(equation, std::array{a}); }
inline Tensor einsum(std::string_view equation, const Tensor& a, const Tensor& b) {
  return einsum(equation, std::array{a, b});
}
///@}

///@{
/// The sum of products over the pairs of axes a_axes[i] of a and b_axes[i] of b (negative axes count from the end), or
/// over the last `axes` axes of a and the first `axes` axes of b. The result has a's other axes, then b's.
Tensor tensordot(const Tensor& a, const Tensor& b, const std::vector<int>& a_axes, const std::vector<int>& b_axes);
Tensor tensordot(const Tensor& a, const Tensor& b, int axes = 2);
///@}

/// The sum of products over the last axis of a and the second to last (or only) axis of b, like numpy.dot. An operand
/// of rank 0 multiplies the other.
Tensor dot(const Tensor& a, const Tensor& b);

/// Flattens a and b and returns the products of every element of a with every element of b, in the shape (a.elements(),
/// b.elements()).
Tensor outer(const Tensor& a, const Tensor& b);

}  // namespace lockstep
