#pragma once

#include <cstdint>
#include <vector>

#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep {

/// The values of the elements that pad adds, with NumPy's names.
enum class PadMode {
  constant,   ///< one number
  reflect,    ///< x mirrored at its first and last element, which are not repeated
  symmetric,  ///< x mirrored at its first and last element, which are repeated
  edge        ///< the first or the last element of x, repeated
};

/// Elements that pad adds before and after an axis.
struct PadWidth {
  std::int64_t before = 0;  ///< at its beginning
  std::int64_t after = 0;   ///< at its end
};

/// x, of any dtype, with pad_width[i] elements added around axis i, as in keras.ops.pad. `constant_value` is read in
/// mode `constant` only. Differentiable. Throws InvalidArgument for an undefined tensor, unless there is one width per
/// axis, for widths that are negative, at least 2^61, or larger than the number of elements to mirror, for `edge` with
/// a width above 0 on an axis of size 0, and for a `constant_value` that an integer dtype or bool cannot represent.
Tensor pad(const Tensor& x, const std::vector<PadWidth>& pad_width, PadMode mode = PadMode::constant,
           double constant_value = 0);

}  // namespace lockstep
