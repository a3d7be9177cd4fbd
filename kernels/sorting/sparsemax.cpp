#include "lockstep/kernels/sorting/sparsemax.h"

#include <lockstep/kernels/array/activations.h>
#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/array/comparison.h>
#include <lockstep/kernels/array/creation.h>
#include <lockstep/kernels/array/shapes.h>
#include <lockstep/kernels/op/checks.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/kernels/scan/scan.h>
#include <lockstep/kernels/sorting/sort.h>

namespace lockstep {

Tensor sparsemax(const Tensor& logits, int axis) try {
  require_real("sparsemax", logits);
  const Tensor lines = moveaxis(cast(logits, DType::f32), axis, -1);
  // Adding a number to all logits does not change the result; differences from the largest are small numbers.
  const Tensor x = lines - stop_gradient(max(lines, {-1}, true));
  const Tensor ordered = sort(x, -1, SortDirection::descending);
  const Tensor numbers = arange(1, static_cast<double>(x.dim(-1) + 1));
  const Tensor kept = greater(numbers * ordered + 1.0, cumsum(ordered, -1));
  const Tensor shift = (sum(where(kept, ordered, 0.0), {-1}, true) - 1.0) / cast(sum(kept, {-1}, true), DType::f32);
  return cast(moveaxis(relu(x - shift), -1, axis), logits.dtype());
} catch (Error& error) {
  rethrow_from("sparsemax", error);
}

}  // namespace lockstep
