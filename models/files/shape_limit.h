#pragma once

#include <algorithm>
#include <cstdint>

#include <lockstep/runtime/core/shape.h>

namespace lockstep {

/// Whether a tensor of any dtype can have this shape, which was read from a file: the tensor's number of bytes,
/// computed with sizes of 0 replaced by 1, fits in std::int64_t.
inline bool is_possible(const Shape& shape) {
  std::int64_t bytes = sizeof(std::int64_t);  // of the widest element
  return std::ranges::all_of(shape, [&](std::int64_t size) {
    return !__builtin_mul_overflow(bytes, std::max<std::int64_t>(1, size), &bytes);
  });
}

}  // namespace lockstep
