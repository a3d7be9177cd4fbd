// Pooling over NHWC images: each window is walked tap by tap with the channels in the inner, vectorized loop.

#include <algorithm>
#include <array>
#include <vector>

#include <lockstep/kernels/common/window.h>
#include <lockstep/kernels/cpu/cpu_backend.h>
#include <lockstep/kernels/ops/layout.h>
#include <lockstep/runtime/thread/parallel.h>

namespace lockstep {
namespace {

using Index = std::int64_t;

constexpr Index chunk_elements = 16384;  ///< less is not worth waking a thread for

/// The images that a pooling reads, its result, and the window between them.
struct Geometry {
  Index images, height, width, channels, out_height, out_width;
  Window2d window;

  Geometry(const Tensor& x, const Window2d& w, const Tensor& y)
      : images(x.dim(0)),
        height(x.dim(1)),
        width(x.dim(2)),
        channels(x.dim(3)),
        out_height(y.dim(1)),
        out_width(y.dim(2)),
        window(w) {}

  Index image_elements() const { return height * width * channels; }
  WindowAxis rows() const { return {height, out_height, window.height, window.stride_h, window.pad_top}; }
  WindowAxis columns() const { return {width, out_width, window.width, window.stride_w, window.pad_left}; }
  /// Rows of results that make a chunk worth a thread.
  Index line_grain() const {
    return std::max<Index>(1, chunk_elements / std::max<Index>(1, out_width * channels * window.height * window.width));
  }
  Index image_grain() const { return std::max<Index>(1, chunk_elements / std::max<Index>(1, image_elements())); }
};

/// The taps of one window that lie inside the image.
struct Taps {
  Index top, bottom, left, right;

  Taps(const Geometry& g, Index out_row, Index out_column) {
    const IndexRange covered_rows = g.rows().covered(out_row);
    const IndexRange covered_columns = g.columns().covered(out_column);
    top = covered_rows.begin;
    bottom = covered_rows.end;
    left = covered_columns.begin;
    right = covered_columns.end;
  }

  Index count() const { return (bottom - top) * (right - left); }
};

/// visit(first element of a tap's channels) for each tap in row-major order.
template <class T, class Visit>
void for_each_tap(const Geometry& g, const Taps& taps, T* image, Visit&& visit) {
  for (Index row = taps.top; row < taps.bottom; ++row)
    for (Index column = taps.left; column < taps.right; ++column) visit(image + (row * g.width + column) * g.channels);
}

/// visit(taps, pixel) for every result of rows [begin, end) of all images' results.
template <class Visit>
void for_each_window(const Geometry& g, Index begin, Index end, Visit&& visit) {
  for (Index line = begin; line < end; ++line)
    for (Index column = 0; column < g.out_width; ++column)
      visit(Taps(g, line % g.out_height, column), line * g.out_width + column);
}

/// The first elements of a window's taps in row-major order, as distances from the image's first.
class TapOffsets {
 public:
  explicit TapOffsets(const Window2d& window) : offsets_(window.height * window.width) {}

  void set(const Geometry& g, const Taps& taps) {
    count_ = 0;
    for (Index row = taps.top; row < taps.bottom; ++row)
      for (Index column = taps.left; column < taps.right; ++column)
        offsets_[count_++] = (row * g.width + column) * g.channels;
  }

  Index first() const { return offsets_[0]; }
  /// step.operator()<4>(offsets) for each four taps from `begin` on, then <1> for each one left: four at a time need
  /// a quarter of the loads and stores of what is kept by channel.
  template <class Step>
  void by_fours(Index begin, Step&& step) const {
    Index tap = begin;
    for (; tap + 4 <= count_; tap += 4) step.template operator()<4>(offsets_.data() + tap);
    for (; tap < count_; ++tap) step.template operator()<1>(offsets_.data() + tap);
  }

 private:
  std::vector<Index> offsets_;
  Index count_ = 0;
};

void largest_of_window(const Geometry& g, const TapOffsets& taps, const float* image, float* largest) {
  std::copy_n(image + taps.first(), g.channels, largest);
  taps.by_fours(1, [&]<int count>(const Index* offsets) {
    std::array<const float*, count> tap;
    for (int t = 0; t < count; ++t) tap[t] = image + offsets[t];
#pragma omp simd
    for (Index k = 0; k < g.channels; ++k) {
      float m = largest[k];
      for (int t = 0; t < count; ++t) m = m < tap[t][k] ? tap[t][k] : m;
      largest[k] = m;
    }
  });
}

/// Moves each element of `rest` to the gradient of the first tap that is the largest one.
void add_to_largest(const Geometry& g, const TapOffsets& taps, const float* image, const float* largest, float* rest,
                    float* gradient) {
  taps.by_fours(0, [&]<int count>(const Index* offsets) {
    std::array<const float*, count> tap;
    std::array<float*, count> to;
    for (int t = 0; t < count; ++t) tap[t] = image + offsets[t];
    for (int t = 0; t < count; ++t) to[t] = gradient + offsets[t];
#pragma omp simd
    for (Index k = 0; k < g.channels; ++k) {
      float left = rest[k];
      for (int t = 0; t < count; ++t) {
        const bool hit = tap[t][k] == largest[k];
        to[t][k] += hit ? left : 0;
        left = hit ? 0 : left;
      }
      rest[k] = left;
    }
  });
}

}  // namespace

void CpuBackend::max_pool2d(const Tensor& x, const Window2d& window, const Tensor& y) {
  const Geometry g(x, window, y);
  const float* const images = x.data<float>();
  float* const results = y.data<float>();
  const Index stride = row_stride(y);
  parallel_for(g.images * g.out_height, g.line_grain(), [&](Index begin, Index end) {
    TapOffsets offsets(window);
    for_each_window(g, begin, end, [&](const Taps& taps, Index pixel) {
      const Index image = pixel / (g.out_height * g.out_width);
      offsets.set(g, taps);
      largest_of_window(g, offsets, images + image * g.image_elements(), results + pixel * stride);
    });
  });
}

void CpuBackend::max_pool2d_gradient(const Tensor& x, const Window2d& window, const Tensor& dy, const Tensor& dx) {
  const Geometry g(x, window, dy);
  const float* const images = x.data<float>();
  const float* const gradients = dy.data<float>();
  float* const image_gradients = dx.data<float>();
  const Index stride = row_stride(dy);
  parallel_for(g.images, g.image_grain(), [&](Index begin, Index end) {
    TapOffsets offsets(window);
    std::vector<float> largest(g.channels), rest(g.channels);
    for (Index image = begin; image < end; ++image) {
      const float* const from = images + image * g.image_elements();
      float* const to = image_gradients + image * g.image_elements();
      std::fill_n(to, g.image_elements(), 0.0F);
      for_each_window(g, image * g.out_height, (image + 1) * g.out_height, [&](const Taps& taps, Index pixel) {
        offsets.set(g, taps);
        largest_of_window(g, offsets, from, largest.data());
        std::copy_n(gradients + pixel * stride, g.channels, rest.begin());
        add_to_largest(g, offsets, from, largest.data(), rest.data(), to);
      });
    }
  });
}

void CpuBackend::average_pool2d(const Tensor& x, const Window2d& window, const Tensor& y) {
  const Geometry g(x, window, y);
  const float* const images = x.data<float>();
  float* const results = y.data<float>();
  const Index stride = row_stride(y);
  parallel_for(g.images * g.out_height, g.line_grain(), [&](Index begin, Index end) {
    for_each_window(g, begin, end, [&](const Taps& taps, Index pixel) {
      const Index image = pixel / (g.out_height * g.out_width);
      float* const mean = results + pixel * stride;
      std::fill_n(mean, g.channels, 0.0F);
      for_each_tap(g, taps, images + image * g.image_elements(), [&](const float* tap) {
#pragma omp simd
        for (Index k = 0; k < g.channels; ++k) mean[k] += tap[k];
      });
      const float count = static_cast<float>(taps.count());
#pragma omp simd
      for (Index k = 0; k < g.channels; ++k) mean[k] /= count;
    });
  });
}

void CpuBackend::average_pool2d_gradient(const Tensor& dy, const Window2d& window, const Tensor& dx) {
  const Geometry g(dx, window, dy);
  const float* const gradients = dy.data<float>();
  float* const image_gradients = dx.data<float>();
  const Index stride = row_stride(dy);
  parallel_for(g.images, g.image_grain(), [&](Index begin, Index end) {
    for (Index image = begin; image < end; ++image) {
      float* const to = image_gradients + image * g.image_elements();
      std::fill_n(to, g.image_elements(), 0.0F);
      for_each_window(g, image * g.out_height, (image + 1) * g.out_height, [&](const Taps& taps, Index pixel) {
        const float* const gradient = gradients + pixel * stride;
        const float count = static_cast<float>(taps.count());
        for_each_tap(g, taps, to, [&](float* tap) {
#pragma omp simd
          for (Index k = 0; k < g.channels; ++k) tap[k] += gradient[k] / count;
        });
      });
    }
  });
}

}  // namespace lockstep
