#pragma once

#include <cstdint>
#include <type_traits>

#include <lockstep/kernels/elementwise/math.h>
#include <lockstep/kernels/sorting/sort_direction.h>
#include <lockstep/runtime/core/host_device.h>

// Maps elements to unsigned integer keys. Sorting by these keys gives the same order on every device.

namespace lockstep {

/// Elements of T use this number of low bits of a key; the other bits are 0.
template <class T>
inline constexpr int sort_key_bits = 8 * static_cast<int>(sizeof(T));

template <class T>
using SortKey = std::conditional_t<sort_key_bits<T> == 64, std::uint64_t, std::uint32_t>;

namespace detail {
/// Key of a number; keys are ordered as the numbers are. 0 and -0 have the same key; every NaN has the largest key.
LOCKSTEP_HOST_DEVICE inline std::uint32_t ascending_key(float x) {
  if (x != x) return 0xffffffffU;
  if (x == 0) return 0x80000000U;
  const std::uint32_t bits = bits_of(x);
  return bits >> 31 != 0 ? ~bits : bits | 0x80000000U;
}
}  // namespace detail

/// Key of an element of any dtype; elements that sort first in `direction` have smaller keys. NaN is larger than all
/// numbers, and so sorts first in descending order.
template <class T>
LOCKSTEP_HOST_DEVICE SortKey<T> sort_key(const T& x, SortDirection direction) {
  using Key = SortKey<T>;
  constexpr int unused_bits = 8 * static_cast<int>(sizeof(Key)) - sort_key_bits<T>;
  constexpr Key all = ~Key{0} >> unused_bits;
  Key key;
  if constexpr (std::is_integral_v<T>) {
    constexpr Key sign = std::is_signed_v<T> ? Key{1} << (sort_key_bits<T> - 1) : Key{0};
    key = static_cast<Key>(x) ^ sign;
  } else {
    key = detail::ascending_key(static_cast<float>(x)) >> unused_bits;
  }
  return direction == SortDirection::ascending ? key : key ^ all;
}

}  // namespace lockstep
