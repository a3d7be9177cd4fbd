#include "lockstep/kernels/convolution/phases.h"

#include <algorithm>
#include <functional>
#include <ranges>

#include <lockstep/kernels/convolution/convolution_kernels.h>
#include <lockstep/kernels/elementwise/elementwise_kernels.h>
#include <lockstep/runtime/thread/parallel.h>

namespace lockstep::phases {
namespace {

using Index = std::int64_t;

/// The elements first, first + stride, ... of an axis of dx: the sums of dy with the taps tap, tap + stride, ... of the
/// kernel, the last one first.
struct Phase {
  Index tap, first;
  Index taps, count;
  Index pad_begin, pad_end;  ///< of dy

  Phase(Index tap, Index of_dx, Index of_dy, Index size, Index stride, Index pad)
      : tap(tap),
        first(((tap - pad) % stride + stride) % stride),
        taps((size - tap + stride - 1) / stride),
        count((of_dx - first + stride - 1) / stride) {
    const Index last_seen = (first + pad) / stride;  // element of dy under the phase's first tap
    pad_begin = taps - 1 - last_seen;
    pad_end = count + last_seen - of_dy;
  }
  bool fits() const { return count > 0 && taps > 0 && pad_begin >= 0 && pad_end >= 0; }
};

Phase of_rows(Index tap, const Tensor& dx, const Tensor& dy, const Window2d& w) {
  return {tap, dx.dim(1), dy.dim(1), w.height, w.stride_h, w.pad_top};
}

Phase of_columns(Index tap, const Tensor& dx, const Tensor& dy, const Window2d& w) {
  return {tap, dx.dim(2), dy.dim(2), w.width, w.stride_w, w.pad_left};
}

/// The kernel (h, w, c_dx, c_dy) of the phase as that of a convolution of dy.
Tensor taps_of(const Tensor& kernel, const Window2d& w, const Phase& rows, const Phase& columns) {
  const Tensor result = Tensor::empty({rows.taps, columns.taps, kernel.dim(3), kernel.dim(2)});
  const Tensor from = kernel.view({w.height * w.width, kernel.dim(2), kernel.dim(3)});
  const Tensor to = result.view({rows.taps * columns.taps, kernel.dim(3), kernel.dim(2)});
  for (Index row = 0; row < rows.taps; ++row)
    for (Index column = 0; column < columns.taps; ++column) {
      const Index tap = (rows.tap + (rows.taps - 1 - row) * w.stride_h) * w.width + columns.tap +
                        (columns.taps - 1 - column) * w.stride_w;
      const Index place = row * columns.taps + column;
      kernels::Convert{from.slice_view(0, tap, tap + 1).view({kernel.dim(2), kernel.dim(3)}).transposed_view(),
                       to.slice_view(0, place, place + 1).view({kernel.dim(3), kernel.dim(2)})}
          .on_cpu();
    }
  return result;
}

void write_phase(const Tensor& values, const Window2d& w, const Phase& rows, const Phase& columns, Write write,
                 const Tensor& dx) {
  const Index channels = dx.dim(3);
  parallel_for(dx.dim(0) * rows.count, 8, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) {
      const Index row = i / rows.count * dx.dim(1) + rows.first + i % rows.count * w.stride_h;
      for (Index column = 0; column < columns.count; ++column) {
        const float* const from = values.data<float>() + (i * columns.count + column) * channels;
        float* const to = dx.data<float>() + (row * dx.dim(2) + columns.first + column * w.stride_w) * channels;
        if (write == Write::replace)
          std::copy_n(from, channels, to);
        else
          std::transform(from, from + channels, to, to, std::plus<>());
      }
    }
  });
}

}  // namespace

bool is_faster(const Tensor& dx, const Shape& kernel, const Tensor& dy, const Window2d& w) {
  const bool has_phases = w.stride_h * w.stride_w > 1 && w.dilation_h == 1 && w.dilation_w == 1;
  // Fewer pixels do not outweigh the transposition of the kernel, and other channels leave oneDNN's vectors unfilled.
  const Index pixels = dy.dim(0) * dy.dim(1) * dy.dim(2);
  if (!has_phases || dx.dtype() != DType::f32 || pixels < 2048 || kernel[2] != dx.dim(3) || kernel[2] % 64 != 0 ||
      kernel[3] % 16 != 0)
    return false;
  const auto all_fit = [](Index stride, const auto& phase) {
    return std::ranges::all_of(std::views::iota(Index{0}, stride), [&](Index tap) { return phase(tap).fits(); });
  };
  return all_fit(w.stride_h, [&](Index tap) { return of_rows(tap, dx, dy, w); }) &&
         all_fit(w.stride_w, [&](Index tap) { return of_columns(tap, dx, dy, w); });
}

void conv2d_gradient_x(const Tensor& dy, const Tensor& kernel, const Window2d& w, Write write, const Tensor& dx) {
  for (Index top = 0; top < w.stride_h; ++top)
    for (Index left = 0; left < w.stride_w; ++left) {
      const Phase rows = of_rows(top, dx, dy, w), columns = of_columns(left, dx, dy, w);
      const Window2d window{.height = rows.taps,
                            .width = columns.taps,
                            .pad_top = rows.pad_begin,
                            .pad_left = columns.pad_begin,
                            .pad_bottom = rows.pad_end,
                            .pad_right = columns.pad_end};
      const Tensor values = Tensor::empty({dx.dim(0), rows.count, columns.count, dx.dim(3)});
      kernels::Conv2d{dy, taps_of(kernel, w, rows, columns), {}, window, Activation::linear, values}.on_cpu();
      write_phase(values, w, rows, columns, write, dx);
    }
}

}  // namespace lockstep::phases
