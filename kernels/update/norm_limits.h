#pragma once

#include <vector>

#include <lockstep/kernels/update/norm_limit_options.h>
#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep {

/// Limits the norms of x's vectors in place. The vectors lie along `axes` (negative ones count from the end); there is
/// one for each index of the other axes. Not differentiable. Throws InvalidArgument unless x is dense f32, and for an
/// axis that x does not have or that is given twice.
void limit_norms(const Tensor& x, const std::vector<int>& axes, const NormLimits& limits);

}  // namespace lockstep
