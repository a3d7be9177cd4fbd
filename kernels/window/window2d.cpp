#include "lockstep/kernels/window/window2d.h"

#include <algorithm>

namespace lockstep {
namespace {

/// Output size and padding: https://www.tensorflow.org/api_docs/python/tf/nn#notes_on_padding_2
SlidingAxis slide_axis(std::int64_t input, std::int64_t window, std::int64_t stride, Padding padding) {
  if (padding == Padding::valid) return {.output = (input - window) / stride + 1};
  const std::int64_t output = (input + stride - 1) / stride;
  const std::int64_t pad = std::max<std::int64_t>((output - 1) * stride + window - input, 0);
  return {.output = output, .pad_begin = pad / 2, .pad_end = pad - pad / 2};
}

}  // namespace

void check_window_limits(const char* op, Size2d size, Size2d strides, Size2d dilation) {
  constexpr std::int64_t limit = std::int64_t{1} << 31;
  for (const Size2d& numbers : {size, strides, dilation})
    require(numbers.height < limit && numbers.width < limit,
            "{}: window, strides and dilation must be below 2^31, got {} x {}", op, numbers.height, numbers.width);
}

Sliding2d slide_window(const char* op, const Shape& x, Size2d size, Size2d strides, Padding padding, Size2d dilation) {
  require(x.rank() == 4, "{}: x must be (n, height, width, channels), got {}", op, x);
  require(size.height >= 1 && size.width >= 1 && strides.height >= 1 && strides.width >= 1,
          "{}: window and strides must be at least 1, got {} x {} and {} x {}", op, size.height, size.width,
          strides.height, strides.width);
  require(dilation.height >= 1 && dilation.width >= 1, "{}: the dilation must be at least 1, got {} x {}", op,
          dilation.height, dilation.width);
  check_window_limits(op, size, strides, dilation);
  const Size2d reach{(size.height - 1) * dilation.height + 1, (size.width - 1) * dilation.width + 1};
  const std::int64_t least_height = padding == Padding::valid ? reach.height : 1;
  const std::int64_t least_width = padding == Padding::valid ? reach.width : 1;
  require(x[1] >= least_height && x[2] >= least_width, "{}: the window of {} x {} does not fit into x {}", op,
          reach.height, reach.width, x);
  const SlidingAxis rows = slide_axis(x[1], reach.height, strides.height, padding);
  const SlidingAxis columns = slide_axis(x[2], reach.width, strides.width, padding);
  return sliding_window(size, strides, dilation, rows, columns);
}

Sliding2d sliding_window(Size2d size, Size2d strides, Size2d dilation, const SlidingAxis& rows,
                         const SlidingAxis& columns) {
  return {.window = {.height = size.height,
                     .width = size.width,
                     .stride_h = strides.height,
                     .stride_w = strides.width,
                     .pad_top = rows.pad_begin,
                     .pad_left = columns.pad_begin,
                     .pad_bottom = rows.pad_end,
                     .pad_right = columns.pad_end,
                     .dilation_h = dilation.height,
                     .dilation_w = dilation.width},
          .output = {rows.output, columns.output}};
}

}  // namespace lockstep
