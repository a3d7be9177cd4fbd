#pragma once

#include <lockstep/kernels/array/array.h>
#include <lockstep/runtime/data/example.h>
#include <lockstep/runtime/data/host_context.h>

namespace lockstep {

/// The tensors as Dataset::from_tensors takes them: dense copies in host memory of those that are strided or on a GPU,
/// handles to the others.
inline Batch dense_on_host(const Batch& batch) {
  const ContextScope host(detail::host_context());
  return batch.each([](const Tensor& tensor) {
    const Tensor own = tensor.defined() ? tensor.on_host() : tensor;
    return own.defined() && !own.is_dense() ? dense_copy(own) : own;
  });
}

}  // namespace lockstep
