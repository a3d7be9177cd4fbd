#include "lockstep/kernels/convolution/conv1d_transpose.h"

#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/array/shapes.h>
#include <lockstep/kernels/convolution/conv2d_transpose.h>

namespace lockstep {
namespace {

/// The options for images of one row.
Conv2dTransposeOptions of_one_row(const Conv1dTransposeOptions& options) {
  Conv2dTransposeOptions result{.strides = {1, options.stride},
                                .padding = options.padding,
                                .dilation = {1, options.dilation},
                                .activation = options.activation};
  if (options.output_padding) result.output_padding = Size2d{0, *options.output_padding};
  return result;
}

void check_conv1d_transpose(const Tensor& x, const Tensor& kernel, const Tensor& bias) {
  require(x.defined() && x.rank() == 3 && is_real(x.dtype()) && x.dim(2) >= 1,
          "conv1d_transpose: x must be f32 or bf16 (n, steps, channels), got {}", x);
  require(kernel.defined() && kernel.rank() == 3 && kernel.dtype() == DType::f32 && kernel.dim(2) == x.dim(2) &&
              kernel.dim(1) >= 1,
          "conv1d_transpose: the kernel for x {} must be f32 (taps, filters, {}), got {}", x.shape(), x.dim(2), kernel);
  require(!bias.defined() || (bias.shape() == Shape{kernel.dim(1)} && bias.dtype() == DType::f32),
          "conv1d_transpose: the bias for kernel {} must be f32 ({}), got {}", kernel.shape(), kernel.dim(1), bias);
}

}  // namespace

std::int64_t conv1d_transpose_steps(const char* op, const Shape& x, std::int64_t size,
                                    const Conv1dTransposeOptions& options) {
  return slide_transposed(op, {x[0], 1, x[1], x[2]}, {1, size}, of_one_row(options)).output.width;
}

Tensor conv1d_transpose(const Tensor& x, const Tensor& kernel, const Tensor& bias,
                        const Conv1dTransposeOptions& options) try {
  check_conv1d_transpose(x, kernel, bias);
  conv1d_transpose_steps("conv1d_transpose", x.shape(), kernel.dim(0), options);
  const Tensor y = conv2d_transpose(expand_dims(x, 1), expand_dims(kernel, 0), bias, of_one_row(options));
  return reshape(y, {y.dim(0), y.dim(2), y.dim(3)});
} catch (Error& error) {
  rethrow_from("conv1d_transpose", error);
}

}  // namespace lockstep
