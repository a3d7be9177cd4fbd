#pragma once

#include <initializer_list>
#include <span>
#include <vector>

#include <lockstep/runtime/tensor/tensor.h>

// Ops that move elements without changing them. All are differentiable. Views are on x's device and share its memory.
// Negative axes count from the end. Throw InvalidArgument for undefined tensors (except dense_copy), axes that are out
// of range or given twice, and shapes other than those documented.

namespace lockstep {

/// The same elements in another shape; one size may be -1 and is then inferred. A view if x is dense, else a copy.
Tensor reshape(const Tensor& x, const Shape& shape);
/// x (n, ...) as (n, product of the other sizes): a view if x is dense, else a copy. Throws InvalidArgument for rank 0.
Tensor flatten(const Tensor& x);
/// Joins tensors of one dtype along `axis`; the sizes of their other axes must agree. Throws InvalidArgument for an
/// empty list and for different dtypes. A view if the parts are consecutive slices of one tensor (Tensor::joined).
Tensor concatenate(std::span<const Tensor> parts, int axis = 0);
/// Elements [begin, end) of `axis`, as a view. Throws InvalidArgument unless 0 <= begin <= end <= the size of `axis`.
Tensor slice(const Tensor& x, int axis, std::int64_t begin, std::int64_t end);
/// `parts` equal parts along `axis`, as views. Throws InvalidArgument unless 1 <= parts < 2^31 and `parts` divides the
/// size of `axis`.
std::vector<Tensor> split(const Tensor& x, std::int64_t parts, int axis);
///@{
/// The parts of x between successive `indices` along `axis`, as views: before the first index, from it to the second
/// one, and so on. split(x, {2}, 0) splits x at index 2, not into 2 equal parts. Throws InvalidArgument for indices
/// that decrease or lie outside of x.
std::vector<Tensor> split(const Tensor& x, const std::vector<std::int64_t>& indices, int axis);
inline std::vector<Tensor> split(const Tensor& x, std::initializer_list<std::int64_t> indices, int axis) {
  return split(x, std::vector<std::int64_t>(indices), axis);
}
///@}
///@{
/// A view of x with its axes in the order of `axes`, which must contain each axis once. Without `axes`, reverses the
/// order.
Tensor transpose(const Tensor& x);
Tensor transpose(const Tensor& x, const std::vector<int>& axes);
///@}
/// Widths of borders around an image, in rows and columns; not negative.
struct Borders2d {
  /// The same width on all sides, as in Keras.
  constexpr Borders2d(std::int64_t all = 0) : Borders2d(all, all) {}  // NOLINT: implicit
  /// `vertical` rows at top and bottom, `horizontal` columns at left and right.
  constexpr Borders2d(std::int64_t vertical, std::int64_t horizontal)
      : Borders2d(vertical, vertical, horizontal, horizontal) {}
  /// A width for each side.
  constexpr Borders2d(std::int64_t top, std::int64_t bottom, std::int64_t left, std::int64_t right)
      : top(top), bottom(bottom), left(left), right(right) {}

  ///@{
  /// Rows at top and bottom, columns at left and right.
  std::int64_t top, bottom, left, right;
  ///@}
};
/// Adds borders of zeros to images x (n, h, w, c), f32 or bf16 -> (n, top + h + bottom, left + w + right, c). Throws
/// InvalidArgument for other dtypes and negative borders.
Tensor zero_pad2d(const Tensor& x, const Borders2d& borders);
/// Returns x's elements as a dense tensor that kernels of the calling thread's device can read: x itself if x already
/// is such a tensor, else a copy. An undefined x is returned as it is.
Tensor dense_copy(const Tensor& x);

}  // namespace lockstep
