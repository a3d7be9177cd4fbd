#include "lockstep/kernels/pooling/pooling_kernels.h"

#include <cstdint>
#include <limits>

#include <lockstep/kernels/executor/channels.h>
#include <lockstep/kernels/executor/divisor.h>
#include <lockstep/kernels/executor/executor.h>
#include <lockstep/kernels/executor/packs.h>
#include <lockstep/kernels/executor/shared_kernel.h>
#include <lockstep/kernels/op/layout.h>
#include <lockstep/kernels/window/window.h>
#include <lockstep/kernels/window/window_range.h>
#include <lockstep/runtime/core/host_device.h>

// Pooling over NHWC images: a thread for each pack of channels of each pixel of the result. In the gradients a thread
// gathers, for pixels of the images, from the windows that cover them.

namespace lockstep::kernels {

namespace detail {

/// The first of neighboring channels of one pixel.
template <class Int>
struct PixelChannel {
  Int image, row, column, channel;
};

/// The images x and y of a pooling, whose indices Int holds, and the threads that process one of them.
template <class Int, int pack>
struct PoolGeometry {
  WindowAxis<Int> rows, columns;
  Int channels;
  Int y_stride;                  ///< of a pixel of y
  Divisor height, width, packs;  ///< numbers of threads

  /// A thread for each pack of channels of `pixels` neighbors in a row of `processed`, which is x or y.
  PoolGeometry(const Tensor& x, const Window2d& w, const Tensor& y, const Tensor& processed, int pixels = 1)
      : rows(x.dim(1), y.dim(1), w.height, w.stride_h, w.pad_top),
        columns(x.dim(2), y.dim(2), w.width, w.stride_w, w.pad_left),
        channels(static_cast<Int>(x.dim(3))),
        y_stride(static_cast<Int>(row_stride(y))),
        height(processed.dim(1)),
        width((processed.dim(2) + pixels - 1) / pixels),
        packs(x.dim(3) / pack) {}

  Index threads_of_image() const { return height.value() * width.value() * packs.value(); }
  /// Where thread `i` starts: `column` counts groups of `pixels`.
  LOCKSTEP_HOST_DEVICE PixelChannel<Int> of(Int i) const {
    const Int pixel = i / packs;
    const Int line = pixel / width;
    const Int image = line / height;
    return {image, line - image * static_cast<Int>(height.value()), pixel - line * static_cast<Int>(width.value()),
            (i - pixel * static_cast<Int>(packs.value())) * pack};
  }
  LOCKSTEP_HOST_DEVICE Int x_at(Int image, Int row, Int column, Int channel) const {
    return ((image * rows.in + row) * columns.in + column) * channels + channel;
  }
  /// The number of a pixel of y.
  LOCKSTEP_HOST_DEVICE Int window(Int image, Int row, Int column) const {
    return (image * rows.out + row) * columns.out + column;
  }
  LOCKSTEP_HOST_DEVICE Int y_at(Int image, Int row, Int column, Int channel) const {
    return window(image, row, column) * y_stride + channel;
  }
};

/// Whether a > b, with NaN larger than all numbers.
LOCKSTEP_HOST_DEVICE inline bool exceeds(float a, float b) { return b == b && !(a <= b); }

/// For each channel the first of the largest elements of a window; NaN is larger than all numbers.
template <class Int, int pack>
struct LargestOfWindow {
  float values[pack] = {};
  int indices[pack] = {};  ///< counted over the elements inside the image, in row-major order

  template <class T>
  LOCKSTEP_HOST_DEVICE LargestOfWindow(const PoolGeometry<Int, pack>& g, const T* x, const PixelChannel<Int>& at) {
    constexpr int together = 3;  // number of loads in flight
    const IndexRange<Int> rows = g.rows.covered(at.row);
    const IndexRange<Int> columns = g.columns.covered(at.column);
    const Int width = columns.end - columns.begin;
    Int first = 0;
    for (Int r = rows.begin; r < rows.end; ++r, first += width)
      for (Int c = 0; c < width; c += together) {
        T taps[together][pack];
        for (int k = 0; k < together; ++k) {
          const Int column = c + k < width ? c + k : width - 1;  // the last repeated is not larger than itself
          load_elements(x + g.x_at(at.image, r, columns.begin + column, at.channel), taps[k]);
        }
        for (int k = 0; k < together; ++k)
          for (int l = 0; l < pack; ++l) {
            const auto candidate = static_cast<float>(taps[k][l]);
            const bool larger = exceeds(candidate, values[l]) || (k == 0 && first + c == 0);
            values[l] = larger ? candidate : values[l];
            indices[l] = larger ? static_cast<int>(first + c) + k : indices[l];
          }
      }
  }
};

template <class T, class IndexType, class Int, int pack>
struct MaxPool {
  PoolGeometry<Int, pack> g;
  const T* x;
  T* y;
  IndexType* indices;  ///< null: not stored

  LOCKSTEP_HOST_DEVICE void operator()(Index number) const {
    const auto i = static_cast<Int>(number);
    const PixelChannel<Int> at = g.of(i);
    const LargestOfWindow<Int, pack> largest(g, x, at);
    store_pack(largest.values, y + g.y_at(at.image, at.row, at.column, at.channel));
    if (!indices) return;
    IndexType found[pack];
    for (int l = 0; l < pack; ++l) found[l] = static_cast<IndexType>(largest.indices[l]);
    store_elements(found, indices + i * pack);
  }
};

/// The element of each window that has the index.
template <class T, class IndexType, class Int, int pack>
struct TakenByMaxPool {
  PoolGeometry<Int, pack> g;
  const T* x;
  const IndexType* indices;
  T* y;

  LOCKSTEP_HOST_DEVICE void operator()(Index number) const {
    const auto i = static_cast<Int>(number);
    const PixelChannel<Int> at = g.of(i);
    const IndexRange<Int> columns = g.columns.covered(at.column);
    const Int width = columns.end - columns.begin;
    IndexType found[pack];
    load_elements(indices + i * pack, found);
    float values[pack];
    for (int l = 0; l < pack; ++l) {
      const Int row = g.rows.covered(at.row).begin + static_cast<Int>(found[l]) / width;
      const Int column = columns.begin + static_cast<Int>(found[l]) % width;
      values[l] = static_cast<float>(x[g.x_at(at.image, row, column, at.channel + l)]);
    }
    store_pack(values, y + g.y_at(at.image, at.row, at.column, at.channel));
  }
};

/// Each window's gradient goes to its largest element. A thread gathers for neighboring pixels, which share windows.
template <class T, class IndexType, class Int, int pack>
struct MaxPoolGradient {
  static constexpr int pixels = 2;

  PoolGeometry<Int, pack> g;
  const IndexType* indices;
  const T* dy;
  T* dx;

  LOCKSTEP_HOST_DEVICE void operator()(Index i) const {
    const PixelChannel<Int> at = g.of(static_cast<Int>(i));
    const Int column = at.column * pixels;
    const IndexRange<Int> rows = g.rows.covering(at.row);
    const Int begin = g.columns.covering(column).begin;
    const Int end = g.columns.covering(column + pixels - 1).end;
    float sums[pixels][pack] = {};
    for (Int r = rows.begin; r < rows.end; ++r) {
      const Int row_in_window = at.row - g.rows.covered(r).begin;
      for (Int c = begin; c < end; ++c) {
        IndexType found[pack];
        load_elements(indices + (g.window(at.image, r, c) * g.channels + at.channel), found);
        float upper[pack];
        load_pack(dy + g.y_at(at.image, r, c, at.channel), upper);
        const IndexRange<Int> taps = g.columns.covered(c);
        for (int p = 0; p < pixels; ++p) {
          if (column + p < taps.begin || column + p >= taps.end) continue;
          const auto index = static_cast<int>(row_in_window * (taps.end - taps.begin) + column + p - taps.begin);
          for (int l = 0; l < pack; ++l)
            if (static_cast<int>(found[l]) == index) sums[p][l] += upper[l];
        }
      }
    }
    for (int p = 0; p < pixels; ++p)
      if (column + p < g.columns.in) store_pack(sums[p], dx + g.x_at(at.image, at.row, column + p, at.channel));
  }
};

template <class T, class Int, int pack>
struct AveragePool {
  PoolGeometry<Int, pack> g;
  const T* x;
  T* y;

  LOCKSTEP_HOST_DEVICE void operator()(Index i) const {
    const PixelChannel<Int> at = g.of(static_cast<Int>(i));
    const IndexRange<Int> rows = g.rows.covered(at.row);
    const IndexRange<Int> columns = g.columns.covered(at.column);
    float sums[pack] = {};
    for (Int r = rows.begin; r < rows.end; ++r)
      for (Int c = columns.begin; c < columns.end; ++c) {
        float values[pack];
        load_pack(x + g.x_at(at.image, r, c, at.channel), values);
        for (int l = 0; l < pack; ++l) sums[l] += values[l];
      }
    const auto count = static_cast<float>((rows.end - rows.begin) * (columns.end - columns.begin));
    for (float& sum : sums) sum /= count;
    store_pack(sums, y + g.y_at(at.image, at.row, at.column, at.channel));
  }
};

template <class T, class Int, int pack>
struct AveragePoolGradient {
  PoolGeometry<Int, pack> g;
  const T* dy;
  T* dx;

  LOCKSTEP_HOST_DEVICE void operator()(Index number) const {
    const auto i = static_cast<Int>(number);
    const PixelChannel<Int> at = g.of(i);
    const IndexRange<Int> rows = g.rows.covering(at.row);
    const IndexRange<Int> columns = g.columns.covering(at.column);
    float sums[pack] = {};
    for (Int r = rows.begin; r < rows.end; ++r)
      for (Int c = columns.begin; c < columns.end; ++c) {
        const IndexRange<Int> tap_rows = g.rows.covered(r);
        const IndexRange<Int> tap_columns = g.columns.covered(c);
        const auto count = static_cast<float>((tap_rows.end - tap_rows.begin) * (tap_columns.end - tap_columns.begin));
        float upper[pack];
        load_pack(dy + g.y_at(at.image, r, c, at.channel), upper);
        for (int l = 0; l < pack; ++l) sums[l] += upper[l] / count;
      }
    store_pack(sums, dx + i * pack);
  }
};

/// Whether 32 bits hold all indices of a pooling. GPUs compute several times faster in these than in 64.
inline bool is_narrow(const Tensor& x, const Window2d& w, const Tensor& y) {
  constexpr Index most = std::numeric_limits<std::int32_t>::max();
  return x.elements() <= most && row_count(y) * row_stride(y) <= most && x.dim(1) + 2 * w.height + w.stride_h <= most &&
         x.dim(2) + 2 * w.width + w.stride_w <= most;
}

/// Calls run.operator()<T, Int, pack>() for the images' dtype.
template <class Run>
void visit_pooled(const Tensor& x, const Window2d& window, const Tensor& y, const Run& run) {
  visit_real(x.dtype(), [&]<class T>() {
    visit_packs<T>(x.dim(3), {Rows<T>(x), Rows<T>(y)}, [&]<int pack>() {
      is_narrow(x, window, y) ? run.template operator()<T, std::int32_t, pack>()
                              : run.template operator()<T, Index, pack>();
    });
  });
}

}  // namespace detail

template <class Executor>
void MaxPool2d::run(Executor& on) const {
  detail::visit_pooled(x, window, y, [&]<class T, class Int, int pack>() {
    const auto run = [&]<class IndexType>(IndexType* to) {
      on.for_each(y.elements() / pack,
                  detail::MaxPool<T, IndexType, Int, pack>{{x, window, y, y}, x.data<T>(), y.data<T>(), to});
    };
    if (!indices.defined()) return run(static_cast<std::uint8_t*>(nullptr));
    indices.dtype() == DType::u8 ? run(indices.data<std::uint8_t>()) : run(indices.data<std::int32_t>());
  });
}

template <class Executor>
void MaxPool2dGradient::run(Executor& on) const {
  detail::visit_pooled(dx, window, dy, [&]<class T, class Int, int pack>() {
    const auto run = [&]<class IndexType>(const IndexType* from) {
      using Kernel = detail::MaxPoolGradient<T, IndexType, Int, pack>;
      const detail::PoolGeometry<Int, pack> g(dx, window, dy, dx, Kernel::pixels);
      on.for_each(dx.dim(0) * g.threads_of_image(), Kernel{g, from, dy.data<T>(), dx.data<T>()});
    };
    indices.dtype() == DType::u8 ? run(indices.data<std::uint8_t>()) : run(indices.data<std::int32_t>());
  });
}

template <class Executor>
void MaxPool2dTaken::run(Executor& on) const {
  detail::visit_pooled(x, window, y, [&]<class T, class Int, int pack>() {
    const auto run = [&]<class IndexType>(const IndexType* from) {
      on.for_each(y.elements() / pack,
                  detail::TakenByMaxPool<T, IndexType, Int, pack>{{x, window, y, y}, x.data<T>(), from, y.data<T>()});
    };
    indices.dtype() == DType::u8 ? run(indices.data<std::uint8_t>()) : run(indices.data<std::int32_t>());
  });
}

template <class Executor>
void AveragePool2d::run(Executor& on) const {
  detail::visit_pooled(x, window, y, [&]<class T, class Int, int pack>() {
    on.for_each(y.elements() / pack, detail::AveragePool<T, Int, pack>{{x, window, y, y}, x.data<T>(), y.data<T>()});
  });
}

template <class Executor>
void AveragePool2dGradient::run(Executor& on) const {
  detail::visit_pooled(dx, window, dy, [&]<class T, class Int, int pack>() {
    on.for_each(dx.elements() / pack,
                detail::AveragePoolGradient<T, Int, pack>{{dx, window, dy, dx}, dy.data<T>(), dx.data<T>()});
  });
}

LOCKSTEP_SHARED_KERNEL(MaxPool2d)
LOCKSTEP_SHARED_KERNEL(MaxPool2dGradient)
LOCKSTEP_SHARED_KERNEL(MaxPool2dTaken)
LOCKSTEP_SHARED_KERNEL(AveragePool2d)
LOCKSTEP_SHARED_KERNEL(AveragePool2dGradient)

}  // namespace lockstep::kernels
