#pragma once

#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep {

/// NumPy's may_share_memory: whether the address ranges of a and b, each from the first to the last element, overlap,
/// so that writing one tensor may change the other. False if a or b is undefined or has no elements.
bool may_share_memory(const Tensor& a, const Tensor& b);

}  // namespace lockstep
