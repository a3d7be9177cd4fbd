#pragma once

#include <lockstep/kernels/array/elementwise.h>
#include <lockstep/models/layers/layer.h>

namespace lockstep {

/// The result of a layer inside another one, whose dtype policies may differ: the inner layer reads x in its own dtype,
/// and the outer one reads the result in its. `mask`: of x, undefined if there is none.
inline Tensor call_inner(LayerImpl& inner, const LayerImpl& outer, const Tensor& x, Mode mode,
                         const Tensor& mask = {}) {
  const auto in_dtype = [](const Tensor& tensor, DType dtype) {
    return is_real(tensor.dtype()) && tensor.dtype() != dtype ? cast(tensor, dtype) : tensor;
  };
  const Tensor input = in_dtype(x, inner.call_dtype());
  const std::span<const Tensor> masks = mask.defined() ? std::span(&mask, 1) : std::span<const Tensor>();
  return in_dtype(inner.call(std::span(&input, 1), {.mode = mode, .masks = masks}), outer.call_dtype());
}

}  // namespace lockstep
