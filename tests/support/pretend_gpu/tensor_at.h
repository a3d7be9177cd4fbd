#pragma once

#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep::test {

/// A tensor with the same addresses, shape and strides that does not keep the memory allocated.
Tensor tensor_at(const Tensor& tensor);

}  // namespace lockstep::test
