#include "lockstep/kernels/pooling/pooling_kernels.h"

#include <lockstep/kernels/executor/channels.h>
#include <lockstep/kernels/executor/executor.h>
#include <lockstep/kernels/executor/packs.h>
#include <lockstep/kernels/executor/shared_kernel.h>
#include <lockstep/kernels/op/layout.h>
#include <lockstep/kernels/window/window.h>
#include <lockstep/kernels/window/window_range.h>
#include <lockstep/runtime/core/host_device.h>

// Pooling of NHWC images: one thread for each pack of channels of each pixel. In the forward pass the pixels are those
// of the output; in the gradients those of the input, which gather from the windows that contain them.

namespace lockstep::kernels {

namespace detail {

/// Position of the first channel of a pack.
struct PixelChannel {
  Index image, row, column, channel;

  /// The position of pack `i` in images whose pixels have `packs` packs of `pack` channels each.
  LOCKSTEP_HOST_DEVICE static PixelChannel of(Index i, Index height, Index width, Index packs, int pack) {
    const Index pixel = i / packs;
    const Index line = pixel / width;
    return {line / height, line % height, pixel - line * width, (i - pixel * packs) * pack};
  }
};

template <int pack>
struct PoolGeometry {
  WindowAxis rows, columns;
  Index channels;
  Index y_stride;  ///< elements from one output pixel to the next

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
  LOCKSTEP_HOST_DEVICE PixelChannel of_x(Index i) const {
    return PixelChannel::of(i, rows.in, columns.in, channels / pack, pack);
  }
  LOCKSTEP_HOST_DEVICE PixelChannel of_y(Index i) const {
    return PixelChannel::of(i, rows.out, columns.out, channels / pack, pack);
  }
};

/// For each channel the first of the largest elements of a window, or the window's first element if that is NaN.
template <int pack>
struct LargestOfWindow {
  float values[pack];
  int indices[pack] = {};  ///< counted over the elements inside the image, in row-major order

  template <class T>
  LOCKSTEP_HOST_DEVICE LargestOfWindow(const PoolGeometry<pack>& g, const T* x, const PixelChannel& at) {
    const IndexRange rows = g.rows.covered(at.row);
    const IndexRange columns = g.columns.covered(at.column);
    load_pack(x + g.x_at(at.image, rows.begin, columns.begin, at.channel), values);
    int next = 0;
    for (Index r = rows.begin; r < rows.end; ++r)
      for (Index c = columns.begin; c < columns.end; ++c, ++next) {
        float candidates[pack];
        load_pack(x + g.x_at(at.image, r, c, at.channel), candidates);
        for (int l = 0; l < pack; ++l) {
          const bool larger = values[l] < candidates[l];
          values[l] = larger ? candidates[l] : values[l];
          indices[l] = larger ? next : indices[l];
        }
      }
  }
};

template <class T, class IndexType, int pack>
struct MaxPool {
  PoolGeometry<pack> g;
  const T* x;
  T* y;
  IndexType* indices;  ///< null: not stored

  LOCKSTEP_HOST_DEVICE void operator()(Index i) const {
    const PixelChannel at = g.of_y(i);
    const LargestOfWindow<pack> largest(g, x, at);
    store_pack(largest.values, y + g.y_at(at.image, at.row, at.column, at.channel));
    if (!indices) return;
    IndexType found[pack];
    for (int l = 0; l < pack; ++l) found[l] = static_cast<IndexType>(largest.indices[l]);
    store_elements(found, indices + i * pack);
  }
};

/// Each window's gradient goes to the window's largest element.
template <class T, class IndexType, int pack>
struct MaxPoolGradient {
  PoolGeometry<pack> g;
  const IndexType* indices;
  const T* dy;
  T* dx;

  LOCKSTEP_HOST_DEVICE void operator()(Index i) const {
    const PixelChannel at = g.of_x(i);
    const IndexRange rows = g.rows.covering(at.row);
    const IndexRange columns = g.columns.covering(at.column);
    float sums[pack] = {};
    for (Index r = rows.begin; r < rows.end; ++r)
      for (Index c = columns.begin; c < columns.end; ++c) {
        const IndexRange tap_rows = g.rows.covered(r);
        const IndexRange tap_columns = g.columns.covered(c);
        const auto index = static_cast<IndexType>((at.row - tap_rows.begin) * (tap_columns.end - tap_columns.begin) +
                                                  at.column - tap_columns.begin);
        const Index window = (at.image * g.rows.out + r) * g.columns.out + c;
        IndexType found[pack];
        load_elements(indices + window * g.channels + at.channel, found);
        float upper[pack];
        load_pack(dy + window * g.y_stride + at.channel, upper);
        for (int l = 0; l < pack; ++l) sums[l] += found[l] == index ? upper[l] : 0.0F;
      }
    store_pack(sums, dx + i * pack);
  }
};

template <class T, int pack>
struct AveragePool {
  PoolGeometry<pack> g;
  const T* x;
  T* y;

  LOCKSTEP_HOST_DEVICE void operator()(Index i) const {
    const PixelChannel at = g.of_y(i);
    const IndexRange rows = g.rows.covered(at.row);
    const IndexRange columns = g.columns.covered(at.column);
    float sums[pack] = {};
    for (Index r = rows.begin; r < rows.end; ++r)
      for (Index c = columns.begin; c < columns.end; ++c) {
        float values[pack];
        load_pack(x + g.x_at(at.image, r, c, at.channel), values);
        for (int l = 0; l < pack; ++l) sums[l] += values[l];
      }
    const auto count = static_cast<float>((rows.end - rows.begin) * (columns.end - columns.begin));
    for (float& sum : sums) sum /= count;
    store_pack(sums, y + g.y_at(at.image, at.row, at.column, at.channel));
  }
};

template <class T, int pack>
struct AveragePoolGradient {
  PoolGeometry<pack> g;
  const T* dy;
  T* dx;

  LOCKSTEP_HOST_DEVICE void operator()(Index i) const {
    const PixelChannel at = g.of_x(i);
    const IndexRange rows = g.rows.covering(at.row);
    const IndexRange columns = g.columns.covering(at.column);
    float sums[pack] = {};
    for (Index r = rows.begin; r < rows.end; ++r)
      for (Index c = columns.begin; c < columns.end; ++c) {
        const IndexRange tap_rows = g.rows.covered(r);
        const IndexRange tap_columns = g.columns.covered(c);
        const auto count = static_cast<float>((tap_rows.end - tap_rows.begin) * (tap_columns.end - tap_columns.begin));
        float upper[pack];
        load_pack(dy + g.y_at(at.image, r, c, at.channel), upper);
        for (int l = 0; l < pack; ++l) sums[l] += upper[l] / count;
      }
    store_pack(sums, dx + i * pack);
  }
};

/// Calls run.operator()<T, pack>() for the images' dtype.
template <class Run>
void visit_pooled(const Tensor& x, const Tensor& y, const Run& run) {
  visit_real(x.dtype(), [&]<class T>() {
    visit_packs<T>(x.dim(3), {Rows<T>(x), Rows<T>(y)}, [&]<int pack>() { run.template operator()<T, pack>(); });
  });
}

}  // namespace detail

template <class Executor>
void MaxPool2d::run(Executor& on) const {
  detail::visit_pooled(x, y, [&]<class T, int pack>() {
    const auto run = [&]<class IndexType>(IndexType* to) {
      on.for_each(y.elements() / pack,
                  detail::MaxPool<T, IndexType, pack>{{x, window, y}, x.data<T>(), y.data<T>(), to});
    };
    if (!indices.defined()) return run(static_cast<std::uint8_t*>(nullptr));
    indices.dtype() == DType::u8 ? run(indices.data<std::uint8_t>()) : run(indices.data<std::int32_t>());
  });
}

template <class Executor>
void MaxPool2dGradient::run(Executor& on) const {
  detail::visit_pooled(dx, dy, [&]<class T, int pack>() {
    const auto run = [&]<class IndexType>(const IndexType* from) {
      on.for_each(dx.elements() / pack,
                  detail::MaxPoolGradient<T, IndexType, pack>{{dx, window, dy}, from, dy.data<T>(), dx.data<T>()});
    };
    indices.dtype() == DType::u8 ? run(indices.data<std::uint8_t>()) : run(indices.data<std::int32_t>());
  });
}

template <class Executor>
void AveragePool2d::run(Executor& on) const {
  detail::visit_pooled(x, y, [&]<class T, int pack>() {
    on.for_each(y.elements() / pack, detail::AveragePool<T, pack>{{x, window, y}, x.data<T>(), y.data<T>()});
  });
}

template <class Executor>
void AveragePool2dGradient::run(Executor& on) const {
  detail::visit_pooled(dx, dy, [&]<class T, int pack>() {
    on.for_each(dx.elements() / pack,
                detail::AveragePoolGradient<T, pack>{{dx, window, dy}, dy.data<T>(), dx.data<T>()});
  });
}

LOCKSTEP_SHARED_KERNEL(MaxPool2d)
LOCKSTEP_SHARED_KERNEL(MaxPool2dGradient)
LOCKSTEP_SHARED_KERNEL(AveragePool2d)
LOCKSTEP_SHARED_KERNEL(AveragePool2dGradient)

}  // namespace lockstep::kernels
