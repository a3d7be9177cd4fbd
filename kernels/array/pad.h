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
/// only in mode `constant`. Differentiable. On an axis of n elements, `reflect` allows widths of at most n - 1, and
/// `symmetric` of at most n. On an empty axis, all modes except `constant` allow only the width 0. Throws
/// InvalidArgument for other widths, for widths that are negative or at least 2^61, if pad_width does not have one
/// entry per axis, and if x is undefined. In mode `constant`, also throws it if an integer dtype or bool cannot
/// represent `constant_value`.
Tensor pad(const Tensor& x, const std::vector<PadWidth>& pad_width, PadMode mode = PadMode::constant,
           double constant_value = 0);

/// x, of any dtype, with a block of its elements replaced by `updates`, as keras.ops.slice_update does. The block has
/// the shape of `updates` and begins at `start_indices`, one index for each axis. Differentiable in x and updates.
/// Throws InvalidArgument if a tensor is undefined, if x and updates differ in dtype or rank, if the number of start
/// indices is not x's rank, and if the block reaches beyond x.
Tensor slice_update(const Tensor& x, const std::vector<std::int64_t>& start_indices, const Tensor& updates);

}  // namespace lockstep
