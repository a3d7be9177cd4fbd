#pragma once

#include <lockstep/kernels/backend.h>
#include <lockstep/kernels/common/window.h>
#include <lockstep/kernels/grid/executor.h>
#include <lockstep/kernels/ops/layout.h>
#include <lockstep/runtime/core/host_device.h>

// Pooling over NHWC images: a thread for each channel of each pixel, of the result or, in the gradients, of the images,
// which gather from the windows that cover them.

namespace lockstep::grid {

namespace detail {

/// One channel of one pixel.
struct PixelChannel {
  Index image, row, column, channel;

  LOCKSTEP_HOST_DEVICE static PixelChannel of(Index i, Index height, Index width, Index channels) {
    const Index pixel = i / channels;
    const Index line = pixel / width;
    return {line / height, line % height, pixel - line * width, i - pixel * channels};
  }
};

struct PoolGeometry {
  WindowAxis rows, columns;
  Index channels;
  Index y_stride;  ///< of a pixel of the result

  PoolGeometry(const Tensor& x, const Window2d& w, const Tensor& y)
      : rows{x.dim(1), y.dim(1), w.height, w.stride_h, w.pad_top},
        columns{x.dim(2), y.dim(2), w.width, w.stride_w, w.pad_left},
        channels(x.dim(3)),
        y_stride(row_stride(y)) {}

  LOCKSTEP_HOST_DEVICE Index x_at(Index image, Index row, Index column, Index channel) const {
    return ((image * rows.in + row) * columns.in + column) * channels + channel;
  }
  LOCKSTEP_HOST_DEVICE Index y_at(Index image, Index row, Index column, Index channel) const {
    return ((image * rows.out + row) * columns.out + column) * y_stride + channel;
  }
  LOCKSTEP_HOST_DEVICE PixelChannel of_x(Index i) const { return PixelChannel::of(i, rows.in, columns.in, channels); }
  LOCKSTEP_HOST_DEVICE PixelChannel of_y(Index i) const { return PixelChannel::of(i, rows.out, columns.out, channels); }
};

/// The first of the largest elements of a window, or its first one if that is NaN.
struct LargestOfWindow {
  float value;
  Index place;  ///< of those of the window inside the image, in row-major order

  template <class T>
  LOCKSTEP_HOST_DEVICE LargestOfWindow(const PoolGeometry& g, const T* x, const PixelChannel& at) {
    const IndexRange rows = g.rows.covered(at.row);
    const IndexRange columns = g.columns.covered(at.column);
    value = static_cast<float>(x[g.x_at(at.image, rows.begin, columns.begin, at.channel)]);
    place = 0;
    Index next = 0;
    for (Index r = rows.begin; r < rows.end; ++r)
      for (Index c = columns.begin; c < columns.end; ++c, ++next) {
        const auto candidate = static_cast<float>(x[g.x_at(at.image, r, c, at.channel)]);
        if (!(value < candidate)) continue;
        value = candidate;
        place = next;
      }
  }
};

template <class T, class Place>
struct MaxPool {
  PoolGeometry g;
  const T* x;
  T* y;
  Place* places;  ///< null: nobody wants to know

  LOCKSTEP_HOST_DEVICE void operator()(Index i) const {
    const PixelChannel at = g.of_y(i);
    const LargestOfWindow largest(g, x, at);
    y[g.y_at(at.image, at.row, at.column, at.channel)] = static_cast<T>(largest.value);
    if (places) places[i] = static_cast<Place>(largest.place);
  }
};

/// Each window's gradient goes to the place where its largest element was.
template <class T, class Place>
struct MaxPoolGradient {
  PoolGeometry g;
  const Place* places;
  const T* dy;
  T* dx;

  LOCKSTEP_HOST_DEVICE void operator()(Index i) const {
    const PixelChannel at = g.of_x(i);
    const IndexRange rows = g.rows.covering(at.row);
    const IndexRange columns = g.columns.covering(at.column);
    float sum = 0;
    for (Index r = rows.begin; r < rows.end; ++r)
      for (Index c = columns.begin; c < columns.end; ++c) {
        const IndexRange tap_rows = g.rows.covered(r);
        const IndexRange tap_columns = g.columns.covered(c);
        const Index place =
            (at.row - tap_rows.begin) * (tap_columns.end - tap_columns.begin) + at.column - tap_columns.begin;
        const Index window = (at.image * g.rows.out + r) * g.columns.out + c;
        const bool hit = places[window * g.channels + at.channel] == static_cast<Place>(place);
        sum += hit ? static_cast<float>(dy[window * g.y_stride + at.channel]) : 0.0F;
      }
    dx[i] = static_cast<T>(sum);
  }
};

template <class T>
struct AveragePool {
  PoolGeometry g;
  const T* x;
  T* y;

  LOCKSTEP_HOST_DEVICE void operator()(Index i) const {
    const PixelChannel at = g.of_y(i);
    const IndexRange rows = g.rows.covered(at.row);
    const IndexRange columns = g.columns.covered(at.column);
    float sum = 0;
    for (Index r = rows.begin; r < rows.end; ++r)
      for (Index c = columns.begin; c < columns.end; ++c)
        sum += static_cast<float>(x[g.x_at(at.image, r, c, at.channel)]);
    const Index count = (rows.end - rows.begin) * (columns.end - columns.begin);
    y[g.y_at(at.image, at.row, at.column, at.channel)] = static_cast<T>(sum / static_cast<float>(count));
  }
};

template <class T>
struct AveragePoolGradient {
  PoolGeometry g;
  const T* dy;
  T* dx;

  LOCKSTEP_HOST_DEVICE void operator()(Index i) const {
    const PixelChannel at = g.of_x(i);
    const IndexRange rows = g.rows.covering(at.row);
    const IndexRange columns = g.columns.covering(at.column);
    float sum = 0;
    for (Index r = rows.begin; r < rows.end; ++r)
      for (Index c = columns.begin; c < columns.end; ++c) {
        const IndexRange tap_rows = g.rows.covered(r);
        const IndexRange tap_columns = g.columns.covered(c);
        const Index count = (tap_rows.end - tap_rows.begin) * (tap_columns.end - tap_columns.begin);
        sum += static_cast<float>(dy[g.y_at(at.image, r, c, at.channel)]) / static_cast<float>(count);
      }
    dx[i] = static_cast<T>(sum);
  }
};

}  // namespace detail

template <class Executor>
void max_pool2d(Executor& on, const Tensor& x, const Window2d& window, const Tensor& y, const Tensor& places) {
  visit_real(x.dtype(), [&]<class T>() {
    const auto run = [&]<class Place>(Place* to) {
      on.for_each(y.elements(), detail::MaxPool<T, Place>{{x, window, y}, x.data<T>(), y.data<T>(), to});
    };
    if (!places.defined()) return run(static_cast<std::uint8_t*>(nullptr));
    places.dtype() == DType::u8 ? run(places.data<std::uint8_t>()) : run(places.data<std::int32_t>());
  });
}

template <class Executor>
void max_pool2d_gradient(Executor& on, const Tensor& places, const Window2d& window, const Tensor& dy,
                         const Tensor& dx) {
  visit_real(dx.dtype(), [&]<class T>() {
    const auto run = [&]<class Place>(const Place* from) {
      const detail::MaxPoolGradient<T, Place> f{{dx, window, dy}, from, dy.data<T>(), dx.data<T>()};
      on.for_each(dx.elements(), f);
    };
    places.dtype() == DType::u8 ? run(places.data<std::uint8_t>()) : run(places.data<std::int32_t>());
  });
}

template <class Executor>
void average_pool2d(Executor& on, const Tensor& x, const Window2d& window, const Tensor& y) {
  visit_real(x.dtype(), [&]<class T>() {
    on.for_each(y.elements(), detail::AveragePool<T>{{x, window, y}, x.data<T>(), y.data<T>()});
  });
}

template <class Executor>
void average_pool2d_gradient(Executor& on, const Tensor& dy, const Window2d& window, const Tensor& dx) {
  visit_real(dx.dtype(), [&]<class T>() {
    on.for_each(dx.elements(), detail::AveragePoolGradient<T>{{dx, window, dy}, dy.data<T>(), dx.data<T>()});
  });
}

}  // namespace lockstep::grid
