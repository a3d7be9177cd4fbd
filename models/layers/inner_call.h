#pragma once

#include <lockstep/kernels/array/elementwise.h>
#include <lockstep/models/layers/layer.h>

namespace lockstep {

/// The result of a layer inside another one, whose dtype policies may differ: the inner layer reads x in its own dtype,
/// and the outer one reads the result in its.
inline Tensor call_inner(LayerImpl& inner, const LayerImpl& outer, const Tensor& x, Mode mode) {
  const auto in_dtype = [](const Tensor& tensor, DType dtype) {
    return is_real(tensor.dtype()) && tensor.dtype() != dtype ? cast(tensor, dtype) : tensor;
  };
  const Tensor input = in_dtype(x, inner.call_dtype());
  return in_dtype(inner.call(std::span(&input, 1), {.mode = mode}), outer.call_dtype());
}

}  // namespace lockstep
