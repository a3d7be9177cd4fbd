#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <lockstep/runtime/tensor/tensor.h>

// Further ops of NumPy that move elements of any dtype without changing them. All except stop_gradient are
// differentiable. They throw the errors of array.h.

namespace lockstep {

/// A view of x with an axis of size 1 inserted, which is axis `axis` of the result; a negative axis counts from the
/// result's end.
Tensor expand_dims(const Tensor& x, int axis);
/// A view of x with several axes of size 1 inserted, at the positions `axes` of the result.
Tensor expand_dims(const Tensor& x, const std::vector<int>& axes);
///@{
/// x without its axes of size 1, or without `axes`, whose sizes must be 1. A view if x is dense, else a copy.
Tensor squeeze(const Tensor& x);
Tensor squeeze(const Tensor& x, const std::vector<int>& axes);
///@}
/// Joins parts of one shape and dtype along a new axis, which is axis `axis` of the result. Throws InvalidArgument for
/// an empty list, and if shapes or dtypes differ.
Tensor stack(std::span<const Tensor> parts, int axis = 0);
/// The slices of x along `axis`, without that axis; dense slices are views, others are copies.
std::vector<Tensor> unstack(const Tensor& x, int axis = 0);
/// x broadcast to `shape` by NumPy's rules, as a view; x itself if it has that shape.
Tensor broadcast_to(const Tensor& x, const Shape& shape);
/// x repeated repeats[i] times along axis i. If x's shape and `repeats` differ in length, ones are added at the front
/// of the shorter one. Throws InvalidArgument for a negative number of repeats, and if an axis of the result would have
/// 2^62 elements or more.
Tensor tile(const Tensor& x, const std::vector<std::int64_t>& repeats);
/// x with each slice along `axis` repeated `repeats` times consecutively. Without an axis, repeats each element, in
/// row-major order; the result then has one axis. Throws the errors of tile.
Tensor repeat(const Tensor& x, std::int64_t repeats, std::optional<int> axis = {});
/// Like repeat above, but slice i is repeated repeats[i] times; if `repeats` has one entry, every slice is repeated
/// repeats[0] times. On GPUs, a call with several entries copies them from the host, so it cannot be captured in a CUDA
/// graph. Also throws InvalidArgument if `repeats` has neither one entry nor one for each slice.
Tensor repeat(const Tensor& x, const std::vector<std::int64_t>& repeats, std::optional<int> axis = {});
///@{
/// x with the order of its elements reversed along all axes, or along `axes`.
Tensor flip(const Tensor& x);
Tensor flip(const Tensor& x, const std::vector<int>& axes);
///@}
///@{
/// x shifted by `shift` positions along `axis`; elements shifted beyond one end reappear at the other. Without `axis`,
/// shifts all elements in row-major order. With several axes, shifts by shifts[i] along axes[i]; an axis may be given
/// several times. Throws InvalidArgument if the numbers of shifts and axes differ.
Tensor roll(const Tensor& x, std::int64_t shift);
Tensor roll(const Tensor& x, std::int64_t shift, int axis);
Tensor roll(const Tensor& x, const std::vector<std::int64_t>& shifts, const std::vector<int>& axes);
///@}
///@{
/// x with its axis `source` moved to position `destination`, as a view; the other axes keep their order. With several
/// axes, axis sources[i] is moved to position destinations[i].
Tensor moveaxis(const Tensor& x, int source, int destination);
Tensor moveaxis(const Tensor& x, const std::vector<int>& sources, const std::vector<int>& destinations);
///@}
/// x with two axes exchanged, as a view.
Tensor swapaxes(const Tensor& x, int first, int second);
/// The axes along which the first two vectors of meshgrid vary: the first along axis 1 and the second along axis 0
/// (xy), or the first along axis 0 and the second along axis 1 (ij).
enum class GridIndexing { xy, ij };
/// For each vector, a view with one axis per vector, like numpy.meshgrid: it repeats the vector's elements along all
/// axes except the vector's own. Throws InvalidArgument for tensors that are not vectors.
std::vector<Tensor> meshgrid(std::span<const Tensor> vectors, GridIndexing indexing = GridIndexing::xy);
/// A view of x that tapes treat as a constant: no gradient flows through it.
Tensor stop_gradient(const Tensor& x);

}  // namespace lockstep
