#pragma once

#include <vector>

#include <lockstep/kernels/update/norm_limit_options.h>
#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep {

/// Scales x in place, as Keras' MinMaxNorm does: applies `limits` to the Euclidean norms of x over `axes` (negative
/// ones count from the end), one norm for each index of the other axes. Not differentiable. Throws InvalidArgument
/// unless x is dense f32, and for an axis that x does not have or that is given twice.
void limit_norms(const Tensor& x, const std::vector<int>& axes, const NormLimits& limits);

}  // namespace lockstep
