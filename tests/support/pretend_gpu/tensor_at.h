#pragma once

#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep::test {

/// The same view of the same addresses, which does not keep their memory alive.
Tensor tensor_at(const Tensor& tensor);

}  // namespace lockstep::test
