#pragma once

#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep {

/// Options of cumsum.
struct CumsumOptions {
  bool exclusive = false;  ///< each element's sum is of those before it, and that of the first one 0
  bool reverse = false;    ///< from the end of the axis to its beginning
};

/// Each element plus all before it along `axis` (a negative one counts from the end), of f32 or bf16. Sums are f32, and
/// added in a fixed order: the same input gives the same bits. Throws InvalidArgument for an axis that x does not have.
Tensor cumsum(const Tensor& x, int axis, const CumsumOptions& options = {});

}  // namespace lockstep
