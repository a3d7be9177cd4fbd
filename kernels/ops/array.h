#pragma once

#include <span>

#include <lockstep/runtime/tensor/tensor.h>

// Ops that move elements without changing them; those that make views leave them on their device. All are
// differentiable; f32 unless said.

namespace lockstep {

/// The same elements in another shape (one size may be -1). No copy of a dense tensor.
Tensor reshape(const Tensor& x, const Shape& shape);
/// (n, ...) -> (n, product of the rest).
Tensor flatten(const Tensor& x);
/// Joins along `axis`; other sizes must agree. No copy when the parts already lie next to each other (Tensor::joined).
Tensor concat(std::span<const Tensor> parts, int axis);
/// Elements [begin, end) of `axis`, as a view.
Tensor slice(const Tensor& x, int axis, std::int64_t begin, std::int64_t end);
/// A dense tensor of the same elements, where the calling thread computes: x itself when it is that.
Tensor dense_copy(const Tensor& x);

}  // namespace lockstep
