#pragma once

#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep::test {

/// A tensor at the same address with the same shape and strides, which does not keep the memory allocated.
Tensor tensor_at(const Tensor& tensor);

}  // namespace lockstep::test
