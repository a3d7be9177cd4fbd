#pragma once

#include <cstdint>

#include <lockstep/kernels/elementwise/math.h>
#include <lockstep/kernels/sorting/sort_direction.h>
#include <lockstep/runtime/core/host_device.h>

// Numbers as unsigned integer keys; sorting by them gives the same order on every device.

namespace lockstep {

/// Number of low bits of a key that numbers of T use; the others are 0.
template <class T>
inline constexpr int sort_key_bits = 8 * static_cast<int>(sizeof(T));

namespace detail {
/// Key of a number; keys compare as the numbers do. 0 and -0 have the same key; all NaN have the largest one.
LOCKSTEP_HOST_DEVICE inline std::uint32_t ascending_key(float x) {
  if (x != x) return 0xffffffffU;
  if (x == 0) return 0x80000000U;
  const std::uint32_t bits = bits_of(x);
  return bits >> 31 != 0 ? ~bits : bits | 0x80000000U;
}
}  // namespace detail

/// Key of an f32 or bf16 number; elements that sort first in `direction` have smaller keys.
template <class T>
LOCKSTEP_HOST_DEVICE std::uint32_t sort_key(const T& x, SortDirection direction) {
  constexpr int unused_bits = 32 - sort_key_bits<T>;
  const std::uint32_t key = detail::ascending_key(static_cast<float>(x));
  return (direction == SortDirection::ascending ? key : ~key) >> unused_bits;
}

}  // namespace lockstep
