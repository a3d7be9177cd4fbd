#pragma once

#include <lockstep/kernels/elementwise/elementwise_kernels.h>
#include <lockstep/kernels/executor/rows.h>

// Converts tensors to the memory layouts and dtypes that kernels require. Records nothing on tapes.

namespace lockstep {

/// `x` itself when it is dense, else a dense copy.
inline Tensor make_dense(const Tensor& x) {
  if (x.is_dense()) return x;
  Tensor copy = Tensor::empty(x.shape(), x.dtype());
  launch(kernels::Convert{x, copy});
  return copy;
}

/// `x` itself when it has `dtype`, else a dense copy in `dtype`.
inline Tensor in_dtype(DType dtype, const Tensor& x) {
  if (x.dtype() == dtype) return x;
  Tensor copy = Tensor::empty(x.shape(), dtype);
  launch(kernels::Convert{x, copy});
  return copy;
}

/// `x` itself when it is rows (is_rows), else a dense copy.
inline Tensor make_rows(const Tensor& x) { return is_rows(x) ? x : make_dense(x); }

}  // namespace lockstep
