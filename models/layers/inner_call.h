#pragma once

#include <vector>

#include <lockstep/kernels/array/elementwise.h>
#include <lockstep/models/layers/layer.h>

namespace lockstep {

/// Calls `inner`, a layer inside `outer`, and returns its result. Casts floating-point inputs to the inner layer's
/// call_dtype, and floating-point results, including more_results, to the outer layer's: their dtype policies may
/// differ.
inline Tensor call_inner(LayerImpl& inner, const LayerImpl& outer, std::span<const Tensor> inputs,
                         const LayerCall& call) {
  const auto in_dtype = [](const Tensor& tensor, DType dtype) {
    return is_real(tensor.dtype()) && tensor.dtype() != dtype ? cast(tensor, dtype) : tensor;
  };
  std::vector<Tensor> own;
  for (const Tensor& input : inputs) own.push_back(in_dtype(input, inner.call_dtype()));
  const Tensor result = in_dtype(inner.call(own, call), outer.call_dtype());
  if (call.more_results != nullptr)
    for (Tensor& more : *call.more_results) more = in_dtype(more, outer.call_dtype());
  return result;
}

}  // namespace lockstep
