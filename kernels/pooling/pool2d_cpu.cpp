// Pooling of NHWC images. A window is processed tap by tap; the inner, vectorized loop is over the channels.

#include <algorithm>
#include <array>
#include <type_traits>
#include <vector>

#include <lockstep/kernels/executor/real.h>
#include <lockstep/kernels/op/layout.h>
#include <lockstep/kernels/pooling/pooling_kernels.h>
#include <lockstep/kernels/window/window.h>
#include <lockstep/kernels/window/window_range.h>
#include <lockstep/runtime/thread/parallel.h>

namespace lockstep {
namespace {

using cpu::store;
using cpu::value_of;
using Index = std::int64_t;

constexpr Index chunk_elements = 16384;  ///< least number of elements that justifies a thread

/// Sizes of a pooling's input and output, and its window.
struct Geometry {
  Index images, height, width, channels, out_height, out_width;
  Window2d window;
  WindowAxis<Index> rows, columns;

  Geometry(const Tensor& x, const Window2d& w, const Tensor& y)
      : images(x.dim(0)),
        height(x.dim(1)),
        width(x.dim(2)),
        channels(x.dim(3)),
        out_height(y.dim(1)),
        out_width(y.dim(2)),
        window(w),
        rows(height, out_height, w.height, w.stride_h, w.pad_top),
        columns(width, out_width, w.width, w.stride_w, w.pad_left) {}

  Index image_elements() const { return height * width * channels; }
  /// The most taps of a window that lie inside the image.
  Index most_taps() const { return std::min(window.height, height) * std::min(window.width, width); }
  /// The least number of output rows that justifies a thread.
  Index line_grain() const {
    return std::max<Index>(1, chunk_elements / std::max<Index>(1, out_width * channels * most_taps()));
  }
  Index image_grain() const { return std::max<Index>(1, chunk_elements / std::max<Index>(1, image_elements())); }
};

/// The taps of one window that lie inside the image.
struct Taps {
  Index top, bottom, left, right;

  Taps(const Geometry& g, Index out_row, Index out_column) {
    const IndexRange<Index> covered_rows = g.rows.covered(out_row);
    const IndexRange<Index> covered_columns = g.columns.covered(out_column);
    top = covered_rows.begin;
    bottom = covered_rows.end;
    left = covered_columns.begin;
    right = covered_columns.end;
  }

  Index count() const { return (bottom - top) * (right - left); }
};

/// Calls visit(address of the tap's first channel) for each tap in row-major order.
template <class T, class Visit>
void for_each_tap(const Geometry& g, const Taps& taps, T* image, Visit&& visit) {
  for (Index row = taps.top; row < taps.bottom; ++row)
    for (Index column = taps.left; column < taps.right; ++column) visit(image + (row * g.width + column) * g.channels);
}

/// Calls visit(taps, pixel) for every output pixel in rows [begin, end), counted over all images.
template <class Visit>
void for_each_window(const Geometry& g, Index begin, Index end, Visit&& visit) {
  for (Index line = begin; line < end; ++line)
    for (Index column = 0; column < g.out_width; ++column)
      visit(Taps(g, line % g.out_height, column), line * g.out_width + column);
}

/// Offsets of a window's taps from the image's first element, in row-major order.
class TapOffsets {
 public:
  explicit TapOffsets(const Geometry& g) : offsets_(static_cast<std::size_t>(g.most_taps())) {}

  void set(const Geometry& g, const Taps& taps) {
    count_ = 0;
    for (Index row = taps.top; row < taps.bottom; ++row)
      for (Index column = taps.left; column < taps.right; ++column)
        offsets_[count_++] = (row * g.width + column) * g.channels;
  }

  Index first() const { return offsets_[0]; }
  /// Calls step.operator()<4>(offsets, number of the first tap) for each four taps from `begin` on, then <1> for each
  /// remaining tap. Four taps at a time need a quarter of the loads and stores of per-channel values.
  template <class Step>
  void by_fours(int begin, Step&& step) const {
    int tap = begin;
    for (; tap + 4 <= count_; tap += 4) step.template operator()<4>(offsets_.data() + tap, tap);
    for (; tap < count_; ++tap) step.template operator()<1>(offsets_.data() + tap, tap);
  }

 private:
  std::vector<Index> offsets_;
  int count_ = 0;
};

/// The largest element of each channel, NaN if there is one; with `indexed` also the number of its tap.
template <bool indexed, class T>
void largest_of_window(const Geometry& g, const TapOffsets& taps, const T* image, T* largest, std::int32_t* indices) {
  std::copy_n(image + taps.first(), g.channels, largest);
  if constexpr (indexed) std::fill_n(indices, g.channels, 0);
  taps.by_fours(1, [&]<int count>(const Index* offsets, int number) {
    std::array<const T*, count> tap;
    for (int t = 0; t < count; ++t) tap[t] = image + offsets[t];
#pragma omp simd
    for (Index k = 0; k < g.channels; ++k) {
      float m = value_of(largest[k]);
      std::int32_t index = 0;
      if constexpr (indexed) index = indices[k];
      for (int t = 0; t < count; ++t) {
        const float value = value_of(tap[t][k]);
        const bool larger = m == m && !(value <= m);
        m = larger ? value : m;
        index = larger ? number + t : index;
      }
      store(largest[k], m);
      if constexpr (indexed) indices[k] = index;
    }
  });
}

/// Calls visit(tap offsets, address of the image, number of the output pixel, memory for one integer per channel) for
/// all windows.
template <class T, class Visit>
void for_all_windows(const Geometry& g, const T* images, Visit&& visit) {
  parallel_for(g.images * g.out_height, g.line_grain(), [&](Index begin, Index end) {
    TapOffsets offsets(g);
    std::vector<std::int32_t> numbers(static_cast<std::size_t>(g.channels));
    for_each_window(g, begin, end, [&](const Taps& taps, Index pixel) {
      offsets.set(g, taps);
      visit(offsets, images + pixel / (g.out_height * g.out_width) * g.image_elements(), pixel, numbers.data());
    });
  });
}

template <class T, class IndexType>
void max_pool(const Geometry& g, const T* images, T* results, Index stride, IndexType* indices) {
  for_all_windows(g, images, [&](const TapOffsets& taps, const T* image, Index pixel, std::int32_t* found) {
    largest_of_window<true>(g, taps, image, results + pixel * stride, found);
    std::copy_n(found, g.channels, indices + pixel * g.channels);
  });
}

/// f32 sums of an image's gradient: in the image itself, or for bf16 in a separate buffer.
template <class T>
class ImageSums {
 public:
  explicit ImageSums(const Geometry& g) : elements_(g.image_elements()) {
    if constexpr (!in_place) buffer_.resize(static_cast<std::size_t>(elements_));
  }

  /// Returns the sums, set to zero.
  float* start(T* image) {
    if constexpr (in_place)
      return zeros(image);
    else
      return zeros(buffer_.data());
  }
  void finish(T* image) const {
    if constexpr (!in_place) std::ranges::transform(buffer_, image, [](float sum) { return T(sum); });
  }

 private:
  static constexpr bool in_place = std::is_same_v<T, float>;
  float* zeros(float* sums) const {
    std::fill_n(sums, elements_, 0.0F);
    return sums;
  }

  Index elements_;
  std::vector<float> buffer_{};
};

/// Adds each channel's gradient to the tap with the channel's index.
template <class T>
void add_to_largest(const Geometry& g, const TapOffsets& taps, const std::int32_t* indices, const T* gradient,
                    float* to) {
  taps.by_fours(0, [&]<int count>(const Index* offsets, int number) {
    std::array<float*, count> tap;
    for (int t = 0; t < count; ++t) tap[t] = to + offsets[t];
#pragma omp simd
    for (Index k = 0; k < g.channels; ++k)
      for (int t = 0; t < count; ++t) tap[t][k] += indices[k] == number + t ? value_of(gradient[k]) : 0;
  });
}

template <class T, class IndexType>
void max_pool_gradient(const Geometry& g, const IndexType* indices, const T* gradients, Index stride, T* to) {
  parallel_for(g.images, g.image_grain(), [&](Index begin, Index end) {
    TapOffsets offsets(g);
    ImageSums<T> sums(g);
    std::vector<std::int32_t> numbers(static_cast<std::size_t>(g.channels));
    for (Index image = begin; image < end; ++image) {
      T* const image_gradient = to + image * g.image_elements();
      float* const sum = sums.start(image_gradient);
      for_each_window(g, image * g.out_height, (image + 1) * g.out_height, [&](const Taps& taps, Index pixel) {
        offsets.set(g, taps);
        std::copy_n(indices + pixel * g.channels, g.channels, numbers.begin());
        add_to_largest(g, offsets, numbers.data(), gradients + pixel * stride, sum);
      });
      sums.finish(image_gradient);
    }
  });
}

template <class T>
void average_pool(const Geometry& g, const T* images, T* results, Index stride) {
  parallel_for(g.images * g.out_height, g.line_grain(), [&](Index begin, Index end) {
    std::vector<float> sums(static_cast<std::size_t>(g.channels));
    float* const sum = sums.data();
    for_each_window(g, begin, end, [&](const Taps& taps, Index pixel) {
      std::ranges::fill(sums, 0.0F);
      const Index image = pixel / (g.out_height * g.out_width);
      for_each_tap(g, taps, images + image * g.image_elements(), [&](const T* tap) {
#pragma omp simd
        for (Index k = 0; k < g.channels; ++k) sum[k] += value_of(tap[k]);
      });
      T* const mean = results + pixel * stride;
      const float count = static_cast<float>(taps.count());
#pragma omp simd
      for (Index k = 0; k < g.channels; ++k) store(mean[k], sum[k] / count);
    });
  });
}

template <class T>
void average_pool_gradient(const Geometry& g, const T* gradients, Index stride, T* to) {
  parallel_for(g.images, g.image_grain(), [&](Index begin, Index end) {
    ImageSums<T> sums(g);
    for (Index image = begin; image < end; ++image) {
      T* const image_gradient = to + image * g.image_elements();
      float* const sum = sums.start(image_gradient);
      for_each_window(g, image * g.out_height, (image + 1) * g.out_height, [&](const Taps& taps, Index pixel) {
        const T* const gradient = gradients + pixel * stride;
        const float count = static_cast<float>(taps.count());
        for_each_tap(g, taps, sum, [&](float* tap) {
#pragma omp simd
          for (Index k = 0; k < g.channels; ++k) tap[k] += value_of(gradient[k]) / count;
        });
      });
      sums.finish(image_gradient);
    }
  });
}

/// Calls visit(address of the first index); indices are u8 or i32.
template <class Visit>
void visit_indices(const Tensor& indices, Visit&& visit) {
  if (indices.dtype() == DType::u8)
    visit(indices.data<std::uint8_t>());
  else
    visit(indices.data<std::int32_t>());
}

}  // namespace

void kernels::MaxPool2d::on_cpu() const {
  const Geometry g(x, window, y);
  const Index stride = row_stride(y);
  visit_real(x.dtype(), [&]<class T>() {
    T* const results = y.data<T>();
    if (indices.defined())
      return visit_indices(indices, [&](auto* first) { max_pool(g, x.data<T>(), results, stride, first); });
    for_all_windows(g, x.data<T>(), [&](const TapOffsets& taps, const T* image, Index pixel, std::int32_t*) {
      largest_of_window<false>(g, taps, image, results + pixel * stride, nullptr);
    });
  });
}

void kernels::MaxPool2dGradient::on_cpu() const {
  const Geometry g(dx, window, dy);
  visit_real(dx.dtype(), [&]<class T>() {
    visit_indices(indices,
                  [&](const auto* first) { max_pool_gradient(g, first, dy.data<T>(), row_stride(dy), dx.data<T>()); });
  });
}

void kernels::AveragePool2d::on_cpu() const {
  visit_real(x.dtype(),
             [&]<class T>() { average_pool(Geometry(x, window, y), x.data<T>(), y.data<T>(), row_stride(y)); });
}

void kernels::AveragePool2dGradient::on_cpu() const {
  visit_real(dx.dtype(), [&]<class T>() {
    average_pool_gradient(Geometry(dx, window, dy), dy.data<T>(), row_stride(dy), dx.data<T>());
  });
}

}  // namespace lockstep
