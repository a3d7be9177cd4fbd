#pragma once

#include <span>
#include <vector>

#include <lockstep/runtime/tensor/tensor.h>

// Ops that move elements without changing them; views stay on their device. All are
// differentiable.

namespace lockstep {

/// The same elements in another shape (one size may be -1). No copy of a dense tensor.
Tensor reshape(const Tensor& x, const Shape& shape);
/// (n, ...) -> (n, product of the rest).
Tensor flatten(const Tensor& x);
/// Joins along `axis`; other sizes must agree. No copy when the parts already lie next to each other (Tensor::joined).
Tensor concat(std::span<const Tensor> parts, int axis);
/// Elements [begin, end) of `axis`, as a view.
Tensor slice(const Tensor& x, int axis, std::int64_t begin, std::int64_t end);
/// `parts` equal parts of `axis`, as views. Throws InvalidArgument when its size is no multiple of `parts`.
std::vector<Tensor> split(const Tensor& x, std::int64_t parts, int axis);
/// Rows and columns on each side of an image.
struct Borders2d {
  /// One number means all sides, as in Keras.
  constexpr Borders2d(std::int64_t all = 0) : Borders2d(all, all) {}  // NOLINT: implicit
  /// Of top and bottom, and of left and right.
  constexpr Borders2d(std::int64_t vertical, std::int64_t horizontal)
      : Borders2d(vertical, vertical, horizontal, horizontal) {}
  /// One for each side.
  constexpr Borders2d(std::int64_t top, std::int64_t bottom, std::int64_t left, std::int64_t right)
      : top(top), bottom(bottom), left(left), right(right) {}

  ///@{
  /// Not negative.
  std::int64_t top, bottom, left, right;
  ///@}
};
/// x (n, h, w, c) with zeros around each image -> (n, top + h + bottom, left + w + right, c).
Tensor zero_pad2d(const Tensor& x, const Borders2d& borders);
/// A dense tensor of the same elements, where the calling thread computes: x itself when it is that.
Tensor dense_copy(const Tensor& x);

}  // namespace lockstep
