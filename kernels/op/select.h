#pragma once

#include <lockstep/kernels/elementwise/comparison_kernels.h>

namespace lockstep {

/// out = a where `condition` (bool), else b; all are broadcast to out's shape, and a and b have its dtype. Records
/// nothing on tapes.
inline void select(const Tensor& condition, const Tensor& a, const Tensor& b, const Tensor& out) {
  const Shape& full = out.shape();
  launch(kernels::Select{condition.broadcast_view(full), a.broadcast_view(full), b.broadcast_view(full), out});
}

}  // namespace lockstep
