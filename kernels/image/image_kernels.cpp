#include "lockstep/kernels/image/image_kernels.h"

#include <cmath>
#include <cstdint>

#include <lockstep/kernels/executor/divisor.h>
#include <lockstep/kernels/executor/packs.h>
#include <lockstep/kernels/executor/shared_kernel.h>
#include <lockstep/kernels/image/crop_position.h>
#include <lockstep/kernels/image/resize_weights.h>
#include <lockstep/kernels/op/rows_kernels.h>

// Resizing of an axis: a small kernel computes the weights of each element of the result, then a thread for each pack
// of the result adds weighted elements. The gradient does the same with the transposed weights.
//
// Affine transforms and crops: a thread computes all channels of a pixel of the result.

namespace lockstep::kernels {

namespace detail {

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
void resize_weighted(Executor& on, const ResizeWeights& of, const Tensor& x, const Tensor& y) {
  visit_real(x.dtype(), [&]<class From>() {
    visit_real(y.dtype(), [&]<class To>() {
      const From* const from = x.data<From>();
      To* const to = y.data<To>();
      const auto run = [&]<int pack>() {
        on.for_each(y.elements() / pack, AddWeighted<From, To, pack>{AxisPacks(x, y, pack), of.table, from, to});
      };
      const bool packed = x.dim(2) % 4 == 0 && in_packs<4, From>({from}) && in_packs<4, To>({to});
      packed ? run.template operator()<4>() : run.template operator()<1>();
    });
  });
}

/// Resizes the rows (axis 1) or the columns (axis 2) of x (n, height, width, channels).
template <class Executor>
void resize_axis(Executor& on, const Resize& k, const Tensor& x, int axis, const Tensor& y) {
  const auto around = [axis](const Tensor& t) {
    return axis == 1 ? t.view({t.dim(0), t.dim(1), t.dim(2) * t.dim(3)})
                     : t.view({t.dim(0) * t.dim(1), t.dim(2), t.dim(3)});
  };
  if (!k.copies()) return resize_weighted(on, ResizeWeights(on, k, axis), around(x), around(y));
  visit_dtype(x.dtype(), [&]<class T>() {
    on.for_each(y.elements(),
                CopyNearest<T>{AxisPacks(around(x), around(y), 1), Taps(k, axis), x.data<T>(), y.data<T>()});
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
void Resize::run(Executor& on) const {
  if (x.dim(1) == y.dim(1)) return detail::resize_axis(on, *this, x, 2, y);
  if (x.dim(2) == y.dim(2)) return detail::resize_axis(on, *this, x, 1, y);
  const int first = rows_first() ? 1 : 2;
  Shape shape = x.shape();
  shape[first] = y.dim(first);
  const Tensor between = Tensor::empty(shape, copies() ? x.dtype() : DType::f32);
  detail::resize_axis(on, *this, x, first, between);
  detail::resize_axis(on, *this, between, 3 - first, y);
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

LOCKSTEP_SHARED_KERNEL(Resize)
LOCKSTEP_SHARED_KERNEL(AffineTransform)
LOCKSTEP_SHARED_KERNEL(AffineTransformGradient)
LOCKSTEP_SHARED_KERNEL(CropAndFlip)

}  // namespace lockstep::kernels
