#include "lockstep/kernels/image/image_kernels.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>

#include <lockstep/kernels/executor/divisor.h>
#include <lockstep/kernels/executor/packs.h>
#include <lockstep/kernels/executor/shared_kernel.h>
#include <lockstep/kernels/image/crop_position.h>
#include <lockstep/kernels/op/rows_kernels.h>
#include <lockstep/kernels/window/window_range.h>

// Resizing of an axis: a small kernel computes the weights of each element of the result, then a thread for each pack
// of the result adds weighted elements. The gradient does the same with the transposed weights.
//
// Affine transforms and crops: a thread computes all channels of a pixel of the result.

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

/// A pixel of an image that a result is computed from.
struct Neighbor {
  Index pixel;  ///< row * width + column; -1 outside of the image
  float weight;
};

/// Where the pixels of transformed images are in their images.
struct AffineSampling {
  const float* transforms;
  Index height, width;
  bool bilinear;
  FillMode fill_mode;

  AffineSampling(const Tensor& images, const Tensor& transforms, const AffineTransformOptions& options)
      : transforms(transforms.data<float>()),
        height(images.dim(1)),
        width(images.dim(2)),
        bilinear(options.interpolation == Interpolation::bilinear),
        fill_mode(options.fill_mode) {}

  LOCKSTEP_HOST_DEVICE int neighbors() const { return bilinear ? 4 : 1; }
  /// The neighbor `number` of pixel i of all images.
  LOCKSTEP_HOST_DEVICE Neighbor neighbor(Index i, int number) const {
    const Index line = i / width;
    const Index image = line / height;
    const auto x = static_cast<float>(i - line * width);
    const auto y = static_cast<float>(line - image * height);
    const float* const t = transforms + image * 8;
    const Place row = place(t[3] * x + t[4] * y + t[5], number / 2, height);
    const Place column = place(t[0] * x + t[1] * y + t[2], number % 2, width);
    const bool inside = row.index >= 0 && column.index >= 0;
    return {inside ? row.index * width + column.index : -1, row.weight * column.weight};
  }

 private:
  struct Place {
    Index index;
    float weight;
  };

  /// The lower (0) or upper (1) neighbor of a position on an axis of n elements.
  LOCKSTEP_HOST_DEVICE Place place(float position, int upper, Index n) const {
    if (!(std::abs(position) < 0x1p40F)) return {-1, std::nanf("")};
    const float below = std::floor(bilinear ? position : position + 0.5F);
    const float share = bilinear ? position - below : 0;
    return {inside(static_cast<Index>(below) + upper, n), upper == 1 ? share : 1 - share};
  }
  /// The element that stands for element k; -1 if there is none.
  LOCKSTEP_HOST_DEVICE Index inside(Index k, Index n) const {
    const bool missing = fill_mode == FillMode::constant && (k < 0 || k >= n);
    return missing ? -1 : filled_index(k, n, fill_mode);
  }
};

template <class T>
struct SamplePixel {
  AffineSampling sampling;
  Index channels;
  float fill;
  const T* x;
  T* y;

  LOCKSTEP_HOST_DEVICE void operator()(Index i) const {
    const Index pixels = sampling.height * sampling.width;
    const T* const image = x + i / pixels * pixels * channels;
    Neighbor neighbors[4];
    for (int k = 0; k < sampling.neighbors(); ++k) neighbors[k] = sampling.neighbor(i, k);
    for (Index channel = 0; channel < channels; ++channel) {
      float sum = 0;
      for (int k = 0; k < sampling.neighbors(); ++k) {
        const auto [pixel, weight] = neighbors[k];
        if (weight == 0) continue;  // also not of NaN
        sum += weight * (pixel < 0 ? fill : static_cast<float>(image[pixel * channels + channel]));
      }
      y[i * channels + channel] = static_cast<T>(sum);
    }
  }
};

template <class T>
struct ShareOfNeighbor {
  AffineSampling sampling;
  Index channels;
  int number;
  const T* dy;
  float* values;
  std::int64_t* indices;

  LOCKSTEP_HOST_DEVICE void operator()(Index i) const {
    const Index pixels = sampling.height * sampling.width;
    const auto [pixel, weight] = sampling.neighbor(i, number);
    indices[i] = pixel < 0 || weight == 0 ? no_row : i / pixels * pixels + pixel;
    for (Index at = i * channels; at < (i + 1) * channels; ++at) values[at] = weight * static_cast<float>(dy[at]);
  }
};

template <class T>
struct CropPixel {
  const float* crops;
  FillMode fill_mode;
  Index from_height, from_width;
  Divisor height, width;
  Index channels;
  T fill;
  const T* x;
  T* y;

  LOCKSTEP_HOST_DEVICE void operator()(Index i) const {
    const Index line = i / width;
    const Index image = line / height;
    const Index row = line - image * height.value();
    const Index column = i - line * width.value();
    const float* const crop = crops + image * 6;
    const CropPosition down =
        crop_position(crop[4] != 0 ? height.value() - 1 - row : row, crop, from_height, fill_mode);
    const CropPosition right =
        crop_position(crop[5] != 0 ? width.value() - 1 - column : column, crop + 2, from_width, fill_mode);
    const bool outside = down.outside || right.outside;
    const T* const upper = x + (image * from_height + down.low) * from_width * channels;
    const T* const lower = x + (image * from_height + down.high) * from_width * channels;
    for (Index channel = 0; channel < channels; ++channel)
      y[i * channels + channel] = outside ? fill
                                          : crop_pixel(upper, lower, down.share, right.low * channels + channel,
                                                       right.high * channels + channel, right.share);
  }
};

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

template <class Executor>
void AffineTransform::run(Executor& on) const {
  if (y.elements() == 0) return;
  visit_real(y.dtype(), [&]<class T>() {
    const auto fill = static_cast<float>(options.fill_value);
    on.for_each(y.elements() / y.dim(3), detail::SamplePixel<T>{detail::AffineSampling(y, transforms, options),
                                                                y.dim(3), fill, x.data<T>(), y.data<T>()});
  });
}

template <class Executor>
void AffineTransformGradient::run(Executor& on) const {
  visit_real(dy.dtype(), [&]<class T>() {
    on.for_each(indices.elements(),
                detail::ShareOfNeighbor<T>{detail::AffineSampling(dy, transforms, options), dy.dim(3), neighbor,
                                           dy.data<T>(), values.data<float>(), indices.data<std::int64_t>()});
  });
}

template <class Executor>
void CropAndFlip::run(Executor& on) const {
  visit_pixels(x.dtype(), [&]<class T>() {
    const T fill = pixel_of<T>(static_cast<float>(options.fill_value));
    on.for_each(y.dim(0) * y.dim(1) * y.dim(2),
                detail::CropPixel<T>{crops.data<float>(), options.fill_mode, x.dim(1), x.dim(2), Divisor(y.dim(1)),
                                     Divisor(y.dim(2)), x.dim(3), fill, x.data<T>(), y.data<T>()});
  });
}

LOCKSTEP_SHARED_KERNEL(ResizeAxis)
LOCKSTEP_SHARED_KERNEL(AffineTransform)
LOCKSTEP_SHARED_KERNEL(AffineTransformGradient)
LOCKSTEP_SHARED_KERNEL(CropAndFlip)

}  // namespace lockstep::kernels
