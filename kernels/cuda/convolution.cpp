#include "lockstep/kernels/cuda/convolution.h"

#include <array>

#include <lockstep/kernels/elementwise/elementwise_kernels.h>
#include <lockstep/kernels/window/window.h>

namespace lockstep::cudnn {
namespace {

/// Layout of axes that lie in memory as a (outermost), rows, columns, b (innermost); listed in cuDNN's order.
Layout channels_last(std::int64_t a, std::int64_t b, const Pair& size) {
  const auto [rows, columns] = size;
  return {{a, b, rows, columns}, {rows * columns * b, 1, columns * b, b}};
}

}  // namespace

Convolution::Convolution(ConvolutionPass of, DType dtype_of_all, const Shape& x, const Shape& kernel, const Shape& y,
                         const Window2d& window)
    : pass(of),
      dtype(dtype_of_all),
      n(x[0]),
      channels(x[3]),
      filters(kernel[3]),
      groups(x[3] / kernel[2]),
      x_size{x[1], x[2]},
      kernel_size{kernel[0], kernel[1]},
      y_size{y[1], y[2]},
      strides{window.stride_h, window.stride_w},
      pads_before{window.pad_top, window.pad_left},
      pads_after{window.pad_bottom, window.pad_right},
      dilation{window.dilation_h, window.dilation_w} {}

Layout Convolution::x() const { return channels_last(n, channels, x_size); }
Layout Convolution::kernel() const { return channels_last(filters, channels / groups, kernel_size); }
Layout Convolution::y() const { return channels_last(n, filters, y_size); }
Layout Convolution::bias_layout() const { return channels_last(1, filters, {1, 1}); }

std::string Convolution::text() const {
  constexpr std::array what{"convolution", "data gradient of a convolution", "kernel gradient of a convolution"};
  const Shape kernel{kernel_size[0], kernel_size[1], channels / groups, filters};
  const auto pair = [](const Pair& p) { return Shape{p[0], p[1]}; };
  return fmt::format("{} of {} x {} with kernel {}, strides {}, padding {} and {}, dilation {}{}{}",
                     what.at(static_cast<std::size_t>(pass)), name(dtype), x_shape(), kernel, pair(strides),
                     pair(pads_before), pair(pads_after), pair(dilation), bias ? ", bias" : "", relu ? ", relu" : "");
}

}  // namespace lockstep::cudnn
