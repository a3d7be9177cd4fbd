#pragma once

#include <lockstep/kernels/backend.h>

namespace lockstep {

/// out += what compute(tensor) writes, for kernels that cannot add to what is there while they write.
template <class Compute>
void add_in_own_pass(Backend& backend, const Tensor& out, const Compute& compute) {
  const Tensor apart = Tensor::empty(out.shape(), out.dtype());
  compute(apart);
  backend.accumulate(apart, 1, out);
}

}  // namespace lockstep
