#pragma once

#include <algorithm>
#include <cmath>
#include <numbers>

#include <lockstep/kernels/image/image_kernels.h>
#include <lockstep/kernels/window/window_range.h>

// The weights with which kernels::Resize sums the elements of an axis.

namespace lockstep::kernels::detail {

/// The radius of an interpolation's kernel, in pixels.
inline Index radius_of(Interpolation interpolation) {
  switch (interpolation) {
    case Interpolation::nearest:
    case Interpolation::bilinear:
      return 1;
    case Interpolation::bicubic:
      return 2;
    case Interpolation::lanczos3:
      return 3;
    case Interpolation::lanczos5:
      return 5;
  }
  return 0;
}

/// The weight of a pixel at a distance of x pixels. Precondition: 0 <= x <= radius_of(interpolation).
LOCKSTEP_HOST_DEVICE inline double weight_at(Interpolation interpolation, double x) {
  switch (interpolation) {
    case Interpolation::nearest:
      return 1;
    case Interpolation::bilinear:
      return 1 - x;
    case Interpolation::bicubic:
      return x < 1 ? (1.5 * x - 2.5) * x * x + 1 : ((-0.5 * x + 2.5) * x - 4) * x + 2;
    case Interpolation::lanczos3:
    case Interpolation::lanczos5:
      break;
  }
  if (x <= 1e-3) return 1;
  const double radius = interpolation == Interpolation::lanczos3 ? 3 : 5;
  const double angle = std::numbers::pi * x;
  return radius * std::sin(angle) * std::sin(angle / radius) / (angle * angle);
}

/// Determines which elements of an axis of size `from` contribute to which elements of the resized axis of size `to`.
/// Positions are integers: element j of the first axis has its center at (2 j + 1) * to, and element i of the resized
/// axis has its center at (2 i + 1) * from.
struct Taps {
  Interpolation interpolation;
  Index from, to;
  Index pixel;  ///< the length of a pixel of weight_at, in units of positions
  Index reach;  ///< maximum distance of a contributing element

  Taps(const Resize& k, int axis)
      : interpolation(k.interpolation),
        from(k.transposed ? k.y.dim(axis) : k.x.dim(axis)),
        to(k.transposed ? k.x.dim(axis) : k.y.dim(axis)),
        pixel(2 * (k.antialias ? std::max(from, to) : to)),
        reach(interpolation == Interpolation::nearest ? to : radius_of(interpolation) * pixel) {}

  /// The smallest k for which the center of element k, (2 k + 1) * spacing, is at least `position`; at most `count`.
  LOCKSTEP_HOST_DEVICE static Index first_from(Index position, Index spacing, Index count) {
    if (position <= spacing) return 0;
    const Index k = (position + spacing - 1) / (2 * spacing);
    return k < count ? k : count;
  }
  /// The elements of the first axis that contribute to element i of the resized axis.
  LOCKSTEP_HOST_DEVICE IndexRange<Index> sources(Index i) const {
    const Index center = (2 * i + 1) * from;
    const Index end = center + reach + (interpolation == Interpolation::nearest ? 1 : 0);
    return {first_from(center - reach + 1, to, from), first_from(end, to, from)};
  }
  /// The elements of the resized axis to which element j of the first axis contributes.
  LOCKSTEP_HOST_DEVICE IndexRange<Index> targets(Index j) const {
    const Index center = (2 * j + 1) * to;
    const Index begin = center - reach + (interpolation == Interpolation::nearest ? 0 : 1);
    return {first_from(begin, from, to), first_from(center + reach, from, to)};
  }
  LOCKSTEP_HOST_DEVICE double weight(Index i, Index j) const {
    const Index distance = (2 * i + 1) * from - (2 * j + 1) * to;
    const auto pixels = static_cast<double>(distance < 0 ? -distance : distance) / static_cast<double>(pixel);
    return weight_at(interpolation, pixels);
  }
  /// The sum of the weights of the elements that contribute to element i of the resized axis.
  LOCKSTEP_HOST_DEVICE double total(Index i) const {
    const IndexRange<Index> range = sources(i);
    double sum = 0;
    for (Index j = range.begin; j < range.end; ++j) sum += weight(i, j);
    return sum;
  }
  /// The maximum number of elements that `sources` returns or, if `transposed`, `targets`.
  Index most(bool transposed) const { return std::min(reach / (transposed ? from : to) + 1, transposed ? to : from); }
};

/// For each element of a result, the range of elements of x from which it is computed, and their weights.
struct WeightTable {
  IndexRange<Index>* ranges;  ///< (elements)
  float* weights;             ///< (elements, most)
  Index most;                 ///< maximum length of a range
};

/// Computes a row of a table.
struct FillTable {
  Taps taps;
  bool transposed;
  WeightTable table;

  LOCKSTEP_HOST_DEVICE void operator()(Index row) const {
    const IndexRange<Index> range = transposed ? taps.targets(row) : taps.sources(row);
    const double total = transposed ? 1 : taps.total(row);
    float* const weights = table.weights + row * table.most;
    for (Index k = range.begin; k < range.end; ++k) {
      const double share = transposed ? taps.weight(k, row) / taps.total(k) : taps.weight(row, k) / total;
      weights[k - range.begin] = static_cast<float>(share);
    }
    table.ranges[row] = range;
  }
};

/// The table for one axis of a Resize kernel. Owns the table's memory.
struct ResizeWeights {
  Tensor ranges, weights;
  WeightTable table;

  template <class Executor>
  ResizeWeights(Executor& on, const Resize& k, int axis) {
    const Taps taps(k, axis);
    const Index rows = k.y.dim(axis);
    const Index most = taps.most(k.transposed);
    ranges = Tensor::empty({rows * static_cast<Index>(sizeof(IndexRange<Index>))}, DType::u8);
    weights = Tensor::empty({rows, most});
    table = {static_cast<IndexRange<Index>*>(ranges.raw_data()), weights.data<float>(), most};
    on.for_each(rows, FillTable{taps, k.transposed, table});
  }
};

}  // namespace lockstep::kernels::detail
