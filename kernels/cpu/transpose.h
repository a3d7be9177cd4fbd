#pragma once

#include <utility>

namespace lockstep::cpu {

namespace detail {

/// In each block of (2 * distance) x (2 * distance) numbers, exchanges the upper right and the lower left quarters.
template <int distance, class Vector, int... i>
void exchange_blocks(Vector (&rows)[sizeof...(i)], std::integer_sequence<int, i...>) {
  constexpr int n = sizeof...(i);
  for (int row = 0; row < n; ++row) {
    if ((row & distance) != 0) continue;
    Vector& upper = rows[row];
    Vector& lower = rows[row + distance];
    const Vector left = __builtin_shufflevector(upper, lower, ((i & distance) == 0 ? i : i - distance + n)...);
    lower = __builtin_shufflevector(upper, lower, ((i & distance) == 0 ? i + distance : i + n)...);
    upper = left;
  }
}

}  // namespace detail

/// Transposes an n x n matrix in place; rows[i] is row i, and n is 4, 8 or 16. `Vector` is a vector type of the
/// compiler (attribute vector_size) with n elements of 32 bits.
template <class Vector, int n>
void transpose(Vector (&rows)[n]) {
  static_assert(n == 4 || n == 8 || n == 16);
  constexpr std::make_integer_sequence<int, n> columns;
  detail::exchange_blocks<1>(rows, columns);
  detail::exchange_blocks<2>(rows, columns);
  if constexpr (n > 4) detail::exchange_blocks<4>(rows, columns);
  if constexpr (n > 8) detail::exchange_blocks<8>(rows, columns);
}

}  // namespace lockstep::cpu
