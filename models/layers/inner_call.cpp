#include "lockstep/models/layers/inner_call.h"

#include <vector>

#include <lockstep/kernels/array/arithmetic.h>

namespace lockstep {

Tensor call_inner(LayerImpl& inner, const LayerImpl& outer, std::span<const Tensor> inputs, const LayerCall& call) {
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
