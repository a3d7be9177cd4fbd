#pragma once

#include <span>
#include <vector>

#include <lockstep/runtime/tensor/tensor.h>

// Ops that move elements without changing them. All are differentiable. Views stay on x's device. Throw InvalidArgument
// for undefined tensors, axes that are out of range or given twice, and shapes that do not fit.

namespace lockstep {

/// The same elements in another shape; one size may be -1 and is then inferred. A dense tensor is not copied.
Tensor reshape(const Tensor& x, const Shape& shape);
/// Reshapes x (n, ...) to (n, product of the other sizes).
Tensor flatten(const Tensor& x);
/// Joins tensors of one dtype along `axis`; their other sizes must agree. Throws InvalidArgument for no tensors and
/// different dtypes. No copy if the parts are consecutive slices of one tensor (Tensor::joined).
Tensor concat(std::span<const Tensor> parts, int axis);
/// Elements [begin, end) of `axis`, as a view.
Tensor slice(const Tensor& x, int axis, std::int64_t begin, std::int64_t end);
/// `parts` equal parts along `axis`, as views. Throws InvalidArgument unless `parts` is at least 1 and divides the size
/// of `axis`.
std::vector<Tensor> split(const Tensor& x, std::int64_t parts, int axis);
///@{
/// A view of x with its axes in the order of `axes`, which has each axis once (negative ones count from the end);
/// without `axes`, in reverse order.
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
/// x (n, h, w, c), f32 or bf16, with zeros around each image -> (n, top + h + bottom, left + w + right, c). Throws
/// InvalidArgument for other dtypes and negative borders.
Tensor zero_pad2d(const Tensor& x, const Borders2d& borders);
/// A dense tensor of the same elements on the calling thread's device: x itself if it is dense and a kernel of this
/// device can read it.
Tensor dense_copy(const Tensor& x);

}  // namespace lockstep
