#pragma once

#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep {

/// NumPy's may_share_memory: whether the addresses from the first to the last element of each overlap, so that writing
/// one may change the other. False if either is undefined or has no elements.
bool may_share_memory(const Tensor& a, const Tensor& b);

}  // namespace lockstep
