#include "lockstep/kernels/pooling/pool2d.h"

#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/op/gradient.h>
#include <lockstep/kernels/pooling/pooling_kernels.h>
#include <lockstep/kernels/window/window.h>
#include <lockstep/kernels/window/window2d.h>

namespace lockstep {
namespace {

/// The window and the output tensor of a pooling with valid arguments.
struct Pooling {
  Window2d window;
  Tensor y;
};

Pooling prepare(const char* op, const Tensor& x, const Pool2dOptions& options) {
  require(x.defined() && x.rank() == 4 && is_real(x.dtype()),
          "{}: x must be f32 or bf16 (n, height, width, channels), got {}", op, x);
  const Size2d strides = options.strides.value_or(options.window);
  const auto [window, size] = slide_window(op, x.shape(), options.window, strides, options.padding);
  const Shape shape{x.dim(0), size.height, size.width, x.dim(3)};
  const Tensor& out = options.out;
  require(!out.defined() || (out.shape() == shape && out.dtype() == x.dtype() && is_rows(out)),
          "{}: the output must be {} {}, dense or a channel slice, got {}", op, name(x.dtype()), shape, out);
  return {window, out.defined() ? out : Tensor::empty(shape, x.dtype())};
}

/// Memory for the index of each element of `y` in its window, all that the gradient needs to know about the input.
Tensor indices_in_windows(const Window2d& window, const Tensor& y) {
  return Tensor::empty(y.shape(), window.height * window.width <= 256 ? DType::u8 : DType::i32);
}

Tensor taken_by_max_pool(const Tensor& x, const Tensor& indices, const Window2d& window);

void record_max_pool(const Tensor& x, const Tensor& indices, const Window2d& window, const Tensor& y) {
  record("max_pool2d", {x}, y, [shape = x.shape(), indices, window](BackwardContext& c) {
    contribute_linear(
        c, 0, shape,
        [&](const Tensor& out) {
          launch(kernels::MaxPool2dGradient{indices, window, make_rows(c.gradient(0)), out});
        },
        [indices, window](const Tensor& d) { return taken_by_max_pool(d, indices, window); }, c.gradient(0).dtype());
  });
}

/// max_pool2d's result for an x in which the largest elements have these indices.
Tensor taken_by_max_pool(const Tensor& x, const Tensor& indices, const Window2d& window) {
  const Tensor input = dense_copy(x);
  const Tensor y = Tensor::empty(indices.shape(), x.dtype());
  launch(kernels::MaxPool2dTaken{input, indices, window, y});
  if (recording({input})) record_max_pool(input, indices, window, y);
  return y;
}

}  // namespace

Tensor max_pool2d(const Tensor& x, const Pool2dOptions& options) try {
  const auto [window, y] = prepare("max_pool2d", x, options);
  const Tensor input = dense_copy(x);
  const bool recorded = recording({input});
  const Tensor indices = recorded ? indices_in_windows(window, y) : Tensor();
  launch(kernels::MaxPool2d{input, window, y, indices});
  if (recorded) record_max_pool(input, indices, window, y);
  return y;
} catch (Error& error) {
  rethrow_from("max_pool2d", error);
}

Tensor average_pool2d(const Tensor& x, const Pool2dOptions& options) try {
  const auto [window, y] = prepare("average_pool2d", x, options);
  const Tensor input = dense_copy(x);
  launch(kernels::AveragePool2d{input, window, y});
  Pool2dOptions elsewhere = options;
  elsewhere.out = {};
  if (recording({input}))
    record("average_pool2d", {input}, y, [shape = input.shape(), window = window, elsewhere](BackwardContext& c) {
      contribute_linear(
          c, 0, shape,
          [&](const Tensor& out) {
            launch(kernels::AveragePool2dGradient{make_rows(c.gradient(0)), window, out});
          },
          [elsewhere](const Tensor& d) { return average_pool2d(d, elsewhere); }, c.gradient(0).dtype());
    });
  return y;
} catch (Error& error) {
  rethrow_from("average_pool2d", error);
}

}  // namespace lockstep
