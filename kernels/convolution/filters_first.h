#pragma once

#include <lockstep/kernels/elementwise/elementwise_kernels.h>
#include <lockstep/runtime/device/context.h>
#include <lockstep/runtime/tensor/tensor.h>

// "Filters first" is the memory order of convolution kernels on GPUs: filter by filter, channels innermost. Such a
// kernel, as a matrix (filters, height * width * channels), is the transpose of the HWIO kernel.

namespace lockstep {

/// Uninitialized memory for the result of filters_first for a kernel of this shape.
inline Tensor empty_filters_first(const Shape& kernel, DType dtype) {
  return Tensor::empty({kernel[3], kernel[0] * kernel[1] * kernel[2]}, dtype);
}

/// Converts a dense HWIO kernel to the "filters first" order and to `dtype`.
inline Tensor filters_first(const Tensor& kernel, DType dtype) {
  Tensor filters = empty_filters_first(kernel.shape(), dtype);
  launch(kernels::Convert{kernel.view({-1, kernel.dim(3)}).transposed_view(), filters});
  return filters;
}

/// The result of filters_first on GPUs, where the forward pass and the gradient share it; an undefined tensor on CPUs.
inline Tensor filters_for_library(const Tensor& kernel, DType dtype) {
  if (current_context().device.kind == DeviceKind::cpu) return {};
  return filters_first(kernel, dtype);
}

/// The inverse of filters_first: writes `kernel`, dense HWIO of any dtype.
inline void filters_last(const Tensor& filters, const Tensor& kernel) {
  launch(kernels::Convert{filters.transposed_view(), kernel.view({-1, kernel.dim(3)})});
}

}  // namespace lockstep
