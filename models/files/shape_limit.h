#pragma once

#include <algorithm>
#include <cstdint>

#include <lockstep/runtime/core/shape.h>

namespace lockstep {

/// Whether tensors of every dtype can have this shape of a file: 64 bits hold their bytes, also if sizes of 0 were 1.
inline bool is_possible(const Shape& shape) {
  std::int64_t bytes = sizeof(std::int64_t);  // of the widest element
  return std::ranges::all_of(shape, [&](std::int64_t size) {
    return !__builtin_mul_overflow(bytes, std::max<std::int64_t>(1, size), &bytes);
  });
}

}  // namespace lockstep
