#pragma once

#include <cstdint>
#include <vector>

#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep {

/// The values of the elements that pad adds, with NumPy's names.
enum class PadMode {
  constant,   ///< `constant_value`
  reflect,    ///< x mirrored at its first and last element, without repeating them: 3 2 | 1 2 3 | 2 1
  symmetric,  ///< x mirrored including its first and last element: 2 1 | 1 2 3 | 3 2
  edge        ///< the first or the last element of x: 1 1 | 1 2 3 | 3 3
};

/// Number of elements that pad adds to an axis.
struct PadWidth {
  std::int64_t before = 0;  ///< before its first element
  std::int64_t after = 0;   ///< after its last element
};

/// Returns x, of any dtype, with pad_width[i] elements added to axis i, as keras.ops.pad does. `constant_value` is used
/// only in mode `constant`. Differentiable. Throws InvalidArgument if x is undefined, if pad_width does not have one
/// entry per axis, if a width is negative, at least 2^61 or larger than the number of elements that can be mirrored, if
/// mode `edge` has a width above 0 for an axis of size 0, and in mode `constant` if x's dtype is an integer or bool and
/// cannot represent `constant_value`.
Tensor pad(const Tensor& x, const std::vector<PadWidth>& pad_width, PadMode mode = PadMode::constant,
           double constant_value = 0);

/// x, of any dtype, with its elements from `start_indices` on, one index for each axis, replaced by `updates`, as
/// keras.ops.slice_update does. Differentiable in x and updates. Throws InvalidArgument for undefined tensors,
/// different dtypes or ranks, and updates that reach beyond x.
Tensor slice_update(const Tensor& x, const std::vector<std::int64_t>& start_indices, const Tensor& updates);

}  // namespace lockstep
