#include "lockstep/kernels/image/image_kernels.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include <lockstep/kernels/executor/divisor.h>
#include <lockstep/kernels/executor/packs.h>
#include <lockstep/kernels/executor/shared_kernel.h>
#include <lockstep/kernels/window/window_range.h>

// Resizing of an axis: a small kernel computes the weights of each element of the result, then a thread for each pack
// of the result adds weighted elements. The gradient does the same with the transposed weights.

namespace lockstep::kernels {

namespace detail {

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

/// The weight of a pixel at a distance of x >= 0 pixels.
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

/// Which elements of an axis of `from` elements make one of `to` elements. Positions are integers: the centers of
/// element j of `from` and i of `to` are at (2 j + 1) to and (2 i + 1) from.
struct Taps {
  Interpolation interpolation;
  Index from, to;
  Index pixel;  ///< distance at which weight_at is that of one pixel
  Index reach;  ///< greatest distance of an element with a weight

  Taps(Interpolation interpolation, bool antialias, Index from, Index to)
      : interpolation(interpolation),
        from(from),
        to(to),
        pixel(2 * (antialias ? std::max(from, to) : to)),
        reach(interpolation == Interpolation::nearest ? to : radius_of(interpolation) * pixel) {}

  /// The number of the first element, with centers at (2 k + 1) spacing, that is at `position` or after it.
  LOCKSTEP_HOST_DEVICE static Index first_from(Index position, Index spacing, Index count) {
    if (position <= spacing) return 0;
    const Index k = (position + spacing - 1) / (2 * spacing);
    return k < count ? k : count;
  }
  /// The elements of `from` that make element i of `to`.
  LOCKSTEP_HOST_DEVICE IndexRange<Index> sources(Index i) const {
    const Index center = (2 * i + 1) * from;
    const Index end = center + reach + (interpolation == Interpolation::nearest ? 1 : 0);
    return {first_from(center - reach + 1, to, from), first_from(end, to, from)};
  }
  /// The elements of `to` that are made from element j of `from`.
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
  /// The sum of the weights of an element of `to`.
  LOCKSTEP_HOST_DEVICE double total(Index i) const {
    const IndexRange<Index> range = sources(i);
    double sum = 0;
    for (Index j = range.begin; j < range.end; ++j) sum += weight(i, j);
    return sum;
  }
  /// The largest number of elements that `sources` (or `targets` if `transposed`) gives.
  Index most(bool transposed) const { return std::min(reach / (transposed ? from : to) + 1, transposed ? to : from); }
};

/// The weights of each element of a result.
struct WeightTable {
  IndexRange<Index>* ranges;  ///< of each element
  float* weights;             ///< (elements, most)
  Index most;
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

/// A pack of neighbors along `inner` of the result y (outer, m, inner) of x (outer, n, inner).
struct AxisPacks {
  Index n, inner;
  int pack;
  Divisor packs, m;

  AxisPacks(const Tensor& x, const Tensor& y, int pack)
      : n(x.dim(1)), inner(x.dim(2)), pack(pack), packs(x.dim(2) / pack), m(y.dim(1)) {}

  /// Calls visit(i, from), where i is the pack's element of the axis and from(j) where in x the pack of element j is.
  template <class Visit>
  LOCKSTEP_HOST_DEVICE void visit(Index number, const Visit& visit) const {
    const Index row = number / packs;
    const Index channel = (number - row * packs.value()) * pack;
    const Index o = row / m;
    visit(row - o * m.value(), [=, *this](Index j) { return (o * n + j) * inner + channel; });
  }
};

template <class From, class To, int pack>
struct AddWeighted {
  AxisPacks at;
  WeightTable table;
  const From* x;
  To* y;

  LOCKSTEP_HOST_DEVICE void operator()(Index number) const {
    at.visit(number, [&](Index i, const auto& from) {
      const IndexRange<Index> range = table.ranges[i];
      const float* const weights = table.weights + i * table.most;
      float sums[pack] = {};
      for (Index j = range.begin; j < range.end; ++j) {
        float values[pack];
        load_pack(x + from(j), values);
        for (int l = 0; l < pack; ++l) sums[l] += weights[j - range.begin] * values[l];
      }
      store_pack(sums, y + number * pack);
    });
  }
};

template <class T>
struct CopyNearest {
  AxisPacks at;
  Taps taps;
  const T* x;
  T* y;

  LOCKSTEP_HOST_DEVICE void operator()(Index number) const {
    at.visit(number, [&](Index i, const auto& from) { y[number] = x[from(taps.sources(i).begin)]; });
  }
};

template <class Executor>
void resize_weighted(Executor& on, const ResizeAxis& k, const Taps& taps) {
  const Index rows = k.y.dim(1);
  const Index most = taps.most(k.transposed);
  const Tensor ranges = Tensor::empty({rows * static_cast<Index>(sizeof(IndexRange<Index>))}, DType::u8);
  const Tensor weights = Tensor::empty({rows, most});
  const WeightTable table{static_cast<IndexRange<Index>*>(ranges.raw_data()), weights.data<float>(), most};
  on.for_each(rows, FillTable{taps, k.transposed, table});
  visit_real(k.x.dtype(), [&]<class From>() {
    visit_real(k.y.dtype(), [&]<class To>() {
      const From* const x = k.x.data<From>();
      To* const y = k.y.data<To>();
      const auto run = [&]<int pack>() {
        on.for_each(k.y.elements() / pack, AddWeighted<From, To, pack>{AxisPacks(k.x, k.y, pack), table, x, y});
      };
      const bool packed = k.x.dim(2) % 4 == 0 && in_packs<4, From>({x}) && in_packs<4, To>({y});
      packed ? run.template operator()<4>() : run.template operator()<1>();
    });
  });
}

}  // namespace detail

template <class Executor>
void ResizeAxis::run(Executor& on) const {
  const Index from = transposed ? y.dim(1) : x.dim(1);
  const Index to = transposed ? x.dim(1) : y.dim(1);
  const detail::Taps taps(interpolation, antialias, from, to);
  if (interpolation != Interpolation::nearest || transposed) return detail::resize_weighted(on, *this, taps);
  visit_dtype(x.dtype(), [&]<class T>() {
    on.for_each(y.elements(), detail::CopyNearest<T>{detail::AxisPacks(x, y, 1), taps, x.data<T>(), y.data<T>()});
  });
}

LOCKSTEP_SHARED_KERNEL(ResizeAxis)

}  // namespace lockstep::kernels
