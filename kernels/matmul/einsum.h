#pragma once

#include <array>
#include <span>
#include <string_view>
#include <vector>

#include <lockstep/runtime/tensor/tensor.h>

// Sums of products of tensors. Both f32 or both bf16; differentiable. Throw InvalidArgument for other dtypes, undefined
// tensors and shapes that do not fit.

namespace lockstep {

///@{
/// Einstein's summation of one or two tensors, as numpy.einsum: a term of the equation has a letter for each axis of
/// its tensor, and `...` stands for further axes, which two terms match from the last one. Axes with the same letter
/// have the same size, and so do matched axes of `...`. Letters that the term after `->` does not have are summed over.
/// Without `->`, the result has the axes of `...`, then the letters that occur once, capitals first, in alphabetical
/// order. Throws InvalidArgument for a letter that a term has twice, for a malformed equation and for other numbers of
/// tensors.
Tensor einsum(std::string_view equation, std::span<const Tensor> operands);
inline Tensor einsum(std::string_view equation, const Tensor& a) { return einsum(equation, std::array{a}); }
inline Tensor einsum(std::string_view equation, const Tensor& a, const Tensor& b) {
  return einsum(equation, std::array{a, b});
}
///@}

///@{
/// The sum of products over axes a_axes[i] of a and b_axes[i] of b (negative ones count from the end), or over the last
/// `axes` axes of a and the first ones of b; the result has a's other axes, then b's.
Tensor tensordot(const Tensor& a, const Tensor& b, const std::vector<int>& a_axes, const std::vector<int>& b_axes);
Tensor tensordot(const Tensor& a, const Tensor& b, int axes = 2);
///@}

/// numpy.dot: the product over the last axis of a and the last but one, or only, axis of b. An operand of rank 0
/// multiplies the other.
Tensor dot(const Tensor& a, const Tensor& b);

/// All products of an element of a and an element of b: (elements of a, elements of b); a and b are flattened.
Tensor outer(const Tensor& a, const Tensor& b);

}  // namespace lockstep
